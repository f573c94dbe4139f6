// Package imports holds the project to its import table: which package may use which. It has no
// code but its tests; ARCHITECTURE.md says in words what the table here says in Go.
package imports

// row is what one package, or all below a folder, may import. The standard library is allowed
// except where a row bans parts of it; packages of ours and modules only where a row names them.
type row struct {
	path    string   // below the module; a trailing /... covers the folder and all below it
	ours    []string // packages of ours that it may import, or "..." for all that may be imported
	modules []string // module path prefixes
	pure    bool     // decides from its arguments and memory alone: no clock, no I/O, no log
	tests   bool     // exists for tests and tools; only rows that say so too may import it
	why     string   // what an import beyond this would break
}

const (
	grpcModule    = "google.golang.org/grpc"
	zerologModule = "github.com/rs/zerolog"
)

// table is searched for the longest path that covers a package.
var table = []row{
	{path: "cmd/sidecard", ours: []string{"..."},
		modules: []string{grpcModule, zerologModule, "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/goccy/go-yaml"},
		why:     "the command wires and prints; what needs another module belongs in a package"},

	{path: "pkg/rule", pure: true, modules: []string{"github.com/goccy/go-yaml"},
		why: "rules are what users write; how they are evaluated or where they come from is not known here"},
	{path: "pkg/window", pure: true,
		why: "windows are arithmetic over a time that is passed in, so that every test owns the clock"},
	{path: "pkg/engine", pure: true, ours: []string{"pkg/rule", "pkg/window"},
		why: "a decision does no I/O, logs nothing and reads no clock, so that it can be replayed"},
	{path: "pkg/engine/attr", pure: true, ours: []string{"pkg/engine", "pkg/rule"},
		why: "attributes turn strings into a request and know neither the wire nor the rules' state"},

	{path: "pkg/ruletest", pure: true, ours: []string{"pkg/engine", "pkg/engine/attr", "pkg/rule", "internal/calls"},
		why: "cases are decided by the engine alone, on a clock of their own, from files that were read elsewhere"},

	{path: "pkg/ratelimitsvc", ours: []string{"pkg/engine", "pkg/engine/attr", "pkg/rule", "internal/calls", "internal/clock", "internal/histogram", "internal/tracing"},
		modules: []string{grpcModule, zerologModule, "github.com/envoyproxy/go-control-plane/envoy", "google.golang.org/protobuf", "google.golang.org/genproto/googleapis/rpc"},
		why:     "Envoy's service decides by the engine and must not care where rules come from"},
	{path: "pkg/admin", ours: []string{"pkg/engine", "pkg/engine/attr", "pkg/rule", "pkg/window", "internal/explain", "internal/ruleview"},
		why: "the admin side reads what the engine shows, is told the rest, and decides nothing"},
	{path: "api/...", modules: []string{grpcModule, "google.golang.org/protobuf"},
		why: "generated code knows messages and nothing of ours"},
	{path: "pkg/localapi", ours: []string{"api/sidecard/v1", "pkg/engine", "pkg/engine/attr", "pkg/rule", "internal/calls", "internal/histogram", "internal/tracing"},
		modules: []string{grpcModule},
		why:     "the local API decides by the engine, knows nothing of Envoy, and must not care where rules come from"},
	{path: "pkg/client", ours: []string{"internal/listen"},
		why: "what an application links must stay small, and knows the daemon by its HTTP side alone"},
	{path: "examples/...", ours: []string{"pkg/client"},
		why: "examples use what applications use"},
	{path: "pkg/ruleswatch", ours: []string{"pkg/rule", "internal/clock"},
		modules: []string{"github.com/fsnotify/fsnotify", zerologModule},
		why:     "sources deliver files to a function they are given; the engine is not known here"},

	{path: "internal/calls", ours: []string{"pkg/engine", "internal/histogram"},
		why: "what the ways in share knows the engine, and no wire"},
	{path: "internal/certs", modules: []string{"github.com/fsnotify/fsnotify", zerologModule},
		why: "certificates are read from files, and it is not known who listens with them"},
	{path: "internal/clock", why: "the clock is the bottom of the graph"},
	{path: "internal/explain", pure: true, ours: []string{"pkg/engine", "pkg/engine/attr"},
		why: "an explanation asks the engine, and is told what Envoy makes of the verdict"},
	{path: "internal/gcpace", why: "the pacing of the collector knows the runtime and nothing of ours"},
	{path: "internal/histogram", why: "what is counted while requests wait knows nothing of who shows it"},
	{path: "internal/listen", modules: []string{"golang.org/x/sys"},
		why: "listeners know nothing of what is served on them"},
	{path: "internal/metrics", ours: []string{"pkg/engine", "internal/histogram"}, modules: []string{"github.com/prometheus/client_golang"},
		why: "metrics read counters at a scrape and are not on any path that counts"},
	{path: "internal/probe", ours: []string{"internal/explain", "internal/ruleview", "internal/terminal"},
		modules: []string{grpcModule, "github.com/envoyproxy/go-control-plane/envoy"},
		why:     "a probe knows the daemon from outside, as Envoy does"},
	{path: "internal/ruleview", ours: []string{"pkg/engine", "pkg/rule"},
		why: "rules are shown as they were accepted, whatever reads them"},
	{path: "internal/systemstat", why: "what is measured of the system knows nothing of who is told"},
	{path: "internal/tracing", ours: []string{"pkg/engine"}, modules: []string{"go.opentelemetry.io/otel", grpcModule, zerologModule},
		why: "spans are made of verdicts, whatever the wire that asked for them"},
	{path: "internal/terminal", modules: []string{"golang.org/x/sys"}, why: "a terminal does not know what is shown on it"},
	{path: "internal/imports", tests: true, why: "it has no code"},
	{path: "internal/testkit/...", tests: true, ours: []string{"..."},
		modules: []string{grpcModule, "github.com/envoyproxy/go-control-plane/envoy", "google.golang.org/protobuf", "github.com/goccy/go-yaml", "go.uber.org/goleak", "golang.org/x/sys", "go.opentelemetry.io/proto/otlp", "pgregory.net/rapid"},
		why:     "the test kit is for tests and the demo"},
	{path: "test/...", tests: true, ours: []string{"..."},
		modules: []string{grpcModule, "github.com/envoyproxy/go-control-plane/envoy", "google.golang.org/protobuf", "github.com/goccy/go-yaml"},
		why:     "end-to-end tests and the demo drive the built binary"},
}

// impure are the parts of the standard library that a pure package must not import.
var impure = map[string]string{
	"log": "logs at the edges only", "log/slog": "logs at the edges only",
	"net": "does no I/O", "net/http": "does no I/O", "os": "does no I/O", "os/exec": "does no I/O", "syscall": "does no I/O",
}

// clockReads are the functions of package time that a pure package must not use: now is passed in.
var clockReads = map[string]bool{
	"Now": true, "Since": true, "Until": true, "After": true, "AfterFunc": true,
	"Tick": true, "NewTimer": true, "NewTicker": true, "Sleep": true,
}

// unreachable are modules that pure packages must not reach through anything they import either.
var unreachable = []string{grpcModule, zerologModule, "github.com/fsnotify/fsnotify", "github.com/prometheus/client_golang"}
