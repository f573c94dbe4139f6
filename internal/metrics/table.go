package metrics

import (
	"fmt"
	"slices"

	"github.com/sidecard/sidecard/internal/histogram"
)

// metric is the place of a metric in the table.
type metric int

const (
	decisions metric = iota
	lostRaces
	missingParams
	unusedPlaces
	inFlight
	breakerState
	resourceRequests
	resourceInFlight
	resourceErrors
	resourceResponse
	resourcesKnown
	resourceOverflow
	keys
	keysCapacity
	keysAll
	keysAllCapacity
	keyTableBytes
	keyOverflow
	answered
	decisionDuration
	waitDuration
	waiting
	waitingLimit
	waitingRefused
	unmatched
	unmatchedCalls
	unready
	invalid
	cancelled
	overridesIgnored
	tokens
	tokensLive
	tokenBytes
	reportsMissing
	reloads
	reloadOK
	reloadTime
	reloadDuration
	rulesInfo
	rulesCount
	connections
	connectionsLimit
	connectionsRefused
	spans
	certReloads
	certExpiry
	buildInfo
	metricCount
)

var (
	resourceLabel = Label{Name: "resource", Help: "the rule's resource: a route or an API group"}
	enteredLabel  = Label{Name: "resource", Help: "a route or an API group that a rule in force names; the others, whose names may be what clients send, are counted together as `(other)`"}
	ruleLabel     = Label{Name: "rule", Help: "the rule's id"}
	domainLabel   = Label{Name: "domain", Help: "the domain of Envoy's filter; the domains after the first 64 are counted together as `(other)`"}
	apiLabel      = Label{Name: "api", Help: "where the call came from: `envoy` for the rate limit service, `grpc` and `http` for the local API"}
	listenerLabel = Label{Name: "listener", Help: "what is served on the connection: `grpc`, `http`, `status`, `admin`"}
)

// table declares every metric.
var table = [metricCount]Family{
	decisions: {Name: "decisions_total", Type: Counter,
		Labels: []Label{resourceLabel, ruleLabel, {Name: "outcome", Values: []string{"pass", "wait", "block", "shadow_block"}, Help: "what the rule decided"}},
		Help:   "What rules decided: pass, wait for the decision to let pass later, block, or shadow_block for a rule that only watches. A call that its caller gave up counts for none of them, unless it was blocked. Each request counts once for each rule that concerns it."},
	lostRaces: {Name: "lost_races_total", Type: Counter, Labels: []Label{ruleLabel},
		Help: "Calls refused because another call took the last of the budget between check and charge."},
	missingParams: {Name: "missing_params_total", Type: Counter, Labels: []Label{ruleLabel},
		Help: "Requests that lacked the rule's parameter or, where that is refused, their origin."},
	unusedPlaces: {Name: "unused_places_total", Type: Counter, Labels: []Label{ruleLabel},
		Help: "Places in the rule's queue that were promised to a call that was given up or refused, and could go to no other."},
	inFlight: {Name: "in_flight", Type: Gauge, Labels: []Label{ruleLabel},
		Help: "Calls under way that the rule counts."},
	breakerState: {Name: "breaker_state", Type: Gauge, Labels: []Label{ruleLabel},
		Help: "State of the circuit breaker of the rule: 0 closed, 1 half_open, 2 open."},

	resourceRequests: {Name: "resource_requests_total", Type: Counter,
		Labels: []Label{enteredLabel, {Name: "result", Values: []string{"pass", "block"}, Help: "what the call became that the request was part of"}},
		Help:   "Requests that entered the resource, once for each of their hits, by what their call became. A call that was given up counts as neither, unless it had waited for half a second or more."},
	resourceInFlight: {Name: "resource_in_flight", Type: Gauge, Labels: []Label{enteredLabel},
		Help: "Calls under way that have a token and entered the resource."},
	resourceErrors: {Name: "resource_errors_total", Type: Counter, Labels: []Label{enteredLabel},
		Help: "Calls of the resource that were reported to have failed; see outcomes.errorCodes. Shown once an end was reported."},
	resourceResponse: {Name: "resource_response_seconds", Type: Summary, Unit: "seconds", Labels: []Label{enteredLabel},
		Help: "How long calls of the resource took whose end was reported, those that failed among them. Shown once one was."},
	resourcesKnown: {Name: "resources", Type: Gauge,
		Help: "Resources that are counted by name in the daemon, with rules or without."},
	resourceOverflow: {Name: "resource_overflow_total", Type: Counter,
		Help: "Requests for resources that found no room to be counted by name, or whose names are too long. Rules apply to them all the same."},

	keys: {Name: "keys", Type: Gauge, Labels: []Label{ruleLabel},
		Help: "Parameter values that the rule holds; those that have expired leave within a minute or so."},
	keysCapacity: {Name: "keys_capacity", Type: Gauge, Labels: []Label{ruleLabel},
		Help: "Parameter values that the rule may hold, by its maxKeys and limits.maxKeys."},
	keysAll: {Name: "keys_all_rules", Type: Gauge,
		Help: "Parameter values that all rules hold together."},
	keysAllCapacity: {Name: "keys_all_rules_capacity", Type: Gauge,
		Help: "Parameter values that all rules may hold together, which is limits.maxKeysTotal."},
	keyTableBytes: {Name: "key_table_bytes", Type: Gauge, Unit: "bytes", Labels: []Label{ruleLabel},
		Help: "Memory of the rule's table of parameter values; sidecard check --print tells the most it can become."},
	keyOverflow: {Name: "key_overflow_total", Type: Counter, Labels: []Label{ruleLabel},
		Help: "Requests whose parameter value found no room in the rule's table, so that the rule's overflow decided."},

	answered: {Name: "calls_total", Type: Counter,
		Labels: []Label{apiLabel, {Name: "result", Values: []string{"pass", "block"}, Help: "what the call was answered"}},
		Help:   "Calls that were answered by rules, each once, however many rules concern it."},
	decisionDuration: {Name: "decision_duration_seconds", Type: Histogram, Unit: "seconds",
		Help: fmt.Sprintf("How long decisions took, from the receipt of the call until rules had decided; not how long rules made it wait then. Only one decision in %d is timed, so that the count is that part of all.", histogram.OneIn)},
	waitDuration: {Name: "wait_duration_seconds", Type: Histogram, Unit: "seconds",
		Help: "How long calls were held back because a rule queues, whatever became of them then."},
	waiting: {Name: "waiting", Type: Gauge,
		Help: "Calls that a rule makes wait at the moment."},
	waitingLimit: {Name: "waiting_limit", Type: Gauge,
		Help: "Calls that may wait at a time, which is limits.waiting."},
	waitingRefused: {Name: "waiting_refused_total", Type: Counter,
		Help: "Calls refused because limits.waiting calls were waiting."},

	unmatched: {Name: "unmatched_total", Type: Counter, Labels: []Label{domainLabel},
		Help: "Descriptors that no rule applied to, which pass."},
	unmatchedCalls: {Name: "unmatched_calls_total", Type: Counter, Labels: []Label{domainLabel},
		Help: "Calls that no rule applied to in any of their descriptors, which pass."},
	unready: {Name: "unready_calls_total", Type: Counter, Labels: []Label{apiLabel},
		Help: "Calls answered with UNAVAILABLE because no good rules had been loaded yet: the failure mode of Envoy's filter decides what becomes of the request."},
	invalid: {Name: "invalid_requests_total", Type: Counter,
		Help: "Requests refused as malformed, which the configuration of Envoy causes: its failure mode decides what becomes of the request."},
	cancelled: {Name: "cancelled_calls_total", Type: Counter,
		Help: "Calls given up by the caller, whose charge was given back. Envoy gives up when the timeout of its filter has passed."},
	overridesIgnored: {Name: "overrides_ignored_total", Type: Counter,
		Help: "Descriptors whose limit override had no effect."},

	tokens: {Name: "tokens_total", Type: Counter,
		Labels: []Label{{Name: "event", Values: []string{"issued", "completed", "withdrawn", "expired", "disconnected", "foreign", "refused", "untold"}, Help: "what happened, see [outcomes.md](outcomes.md)"}},
		Help:   "What became of the tokens of calls that rules count until they end: issued, then completed (its end was reported), withdrawn (given up before it was answered, or of a caller who only asks), expired (its lease ended) or disconnected (its Envoy has gone); foreign: reports that ended nothing, be they late, repeated or made up; refused: calls for which there was no room; untold: calls that passed for all that, because no rule needed to know."},
	tokensLive: {Name: "tokens_live", Type: Gauge,
		Help: "Calls under way that have a token."},
	tokenBytes: {Name: "token_bytes", Type: Gauge, Unit: "bytes",
		Help: "Memory of the tokens of calls under way."},
	reportsMissing: {Name: "outcome_reports_missing", Type: Gauge, Labels: []Label{domainLabel},
		Help: "1 if calls of the domain ended with their lease and no end of one was ever reported: Envoy lacks the entry that reports it."},

	reloads: {Name: "rules_reloads_total", Type: Counter,
		Labels: []Label{{Name: "result", Values: []string{"success", "error"}, Help: "what came of it"}},
		Help:   "Attempts to load the rules, by result. After an error the rules before it stay in force."},
	reloadOK: {Name: "rules_last_reload_successful", Type: Gauge,
		Help: "1 if the newest rule files are in force, 0 if they are not, as after an error: /readyz?verbose and the log say why."},
	reloadTime: {Name: "rules_last_success_timestamp_seconds", Type: Gauge, Unit: "seconds",
		Help: "When rules were last put in force, in Unix time; 0 before the first."},
	reloadDuration: {Name: "rules_last_reload_duration_seconds", Type: Gauge, Unit: "seconds",
		Help: "How long it took to read the meaning of the newest rule files and to put them in force or to refuse them; 0 before the first."},
	rulesInfo: {Name: "rules_info", Type: Gauge, Labels: []Label{{Name: "revision", Help: "a hash of the content of the rule files"}},
		Help: "1, labelled with the revision of the rules in force."},
	rulesCount: {Name: "rules", Type: Gauge,
		Help: "Rules in force."},

	connections: {Name: "connections", Type: Gauge, Labels: []Label{listenerLabel},
		Help: "Connections that are open, by what is served on them."},
	connectionsLimit: {Name: "connections_limit", Type: Gauge, Labels: []Label{listenerLabel},
		Help: "Connections that may be open at a time, which is limits.connections, and 64 of the admin address."},
	connectionsRefused: {Name: "connections_refused_total", Type: Counter,
		Labels: []Label{listenerLabel, {Name: "reason", Values: []string{"limit", "peer", "tls"}, Help: "why"}},
		Help:   "Connections closed before anything was read of them: because as many as may be were open (limit), because their process is not allowed (peer), because no TLS handshake was agreed on (tls)."},

	certReloads: {Name: "tls_reloads_total", Type: Counter,
		Labels: []Label{{Name: "result", Values: []string{"success", "error"}, Help: "what came of it"}},
		Help:   "Changes of the files of certificates, by result; only with tls.cert. After an error those before it stay in use."},
	certExpiry: {Name: "tls_certificate_expiry_timestamp_seconds", Type: Gauge, Unit: "seconds",
		Help: "When the certificate in use expires, in Unix time; only with tls.cert."},

	spans: {Name: "spans_total", Type: Counter,
		Labels: []Label{{Name: "event", Values: []string{"ended", "exported", "failed"}, Help: "what happened, see [tracing.md](tracing.md)"}},
		Help:   "Spans of decisions: ended, and then exported (the collector took them) or failed (it did not). Those that are neither wait for the collector, or found the queue full and were dropped."},
	buildInfo: {Name: "build_info", Type: Gauge,
		Labels: []Label{{Name: "version", Help: "the release, or devel"}, {Name: "revision", Help: "the commit"}, {Name: "goversion", Help: "the Go release"}},
		Help:   "1, labelled with what the daemon was built from."},
}

// Families returns the declarations of all metrics of the daemon's own, in the order of the page. Those
// of the Go runtime and of the process, which Prometheus's client library provides, are not among them.
func Families() []Family {
	out := slices.Clone(table[:])
	for i := range out {
		out[i].Name = prefix + out[i].Name
	}
	return out
}
