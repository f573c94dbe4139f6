// Package chaos breaks things around the built daemon and a real Envoy while requests are sent, and counts
// what came of it: `make chaos` runs it, and `make test` a short form. What is counted is judged here; the
// faults are in the tests.
package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// The limits of the rules that are in force in every run, each on a route of its own. Nothing comes back within a run of
// what hourly and session give, so that one request too many is one too many whenever it comes.
const (
	closedLimit  = 0
	hourlyLimit  = 40
	secondLimit  = 20
	sessionLimit = 5
	sessions     = 4
)

// life is the time of one daemon: it decided what was sent from its start on and had arrived when it was
// killed. The zero time stands for no bound.
type life struct{ from, to time.Time }

func (l life) covers(sent, arrived time.Time) bool {
	return sent.After(l.from) && (l.to.IsZero() || arrived.Before(l.to))
}

// outcome is what became of the requests of a run.
type outcome struct {
	sent       int
	failed     int            // neither passed nor refused
	letThrough int            // passed without a word of any rule: Envoy had no answer
	admitted   map[string]int // passed by a rule, or who knows how, by budget
	wrong      map[string]int // admitted above the bound, by budget
}

// wrongly is the sum of what was admitted above a bound.
func (o outcome) wrongly() int {
	sum := 0
	for _, n := range o.wrong {
		sum += n
	}
	return sum
}

// routes are what requests go to, in turn: the n-th of them is asked for routes[n%len(routes)].
var routes = [...]string{"/closed", "/orders", "/search", "/cart"}

func note(n int) string    { return fmt.Sprint("n", n) }
func session(n int) string { return fmt.Sprint("s", n/len(routes)%sessions) }

// budget names what the n-th request is charged to, and says how much of it there is for one daemon.
func budget(n int) (name string, limit int) {
	switch routes[n%len(routes)] {
	case "/closed":
		return "closed", closedLimit
	case "/orders":
		return "hourly", hourlyLimit
	case "/search":
		return "second", secondLimit
	}
	return "session " + session(n), sessionLimit
}

// judge counts what became of requests, replies[n] being that to the n-th, whose arrivals at the application
// are given by their notes. Whether a rule let a request pass is told by the answer: rules put their name
// into it, and what Envoy let pass for want of an answer has none. A request that arrived and whose answer
// was lost counts as admitted. Each life has its budgets once; where a budget comes back, by the second, any
// second of one life is held against it.
func judge(replies []envoytest.Reply, arrivals []envoytest.Arrival, lives []life) outcome {
	arrived := make(map[string]time.Time, len(arrivals))
	for _, a := range arrivals {
		arrived[a.Note] = a.At
	}
	o := outcome{sent: len(replies), admitted: make(map[string]int), wrong: make(map[string]int)}
	var bySecond []envoytest.Reply
	for n, r := range replies {
		at, came := arrived[note(n)]
		if !r.Passed() && !(r.Limited() && r.Rule != "") {
			o.failed++
		}
		name, _ := budget(n)
		switch {
		case !came:
		case r.Passed() && r.Rule == "":
			o.letThrough++
		case name == "second":
			o.admitted[name]++
			// The decision lies between sending and arrival.
			bySecond = append(bySecond, envoytest.Reply{Sent: r.Sent, Done: at, Status: http.StatusOK})
		default:
			o.admitted[name]++
		}
	}
	for n := range len(routes) * sessions {
		if name, limit := budget(n); name != "second" {
			if over := o.admitted[name] - limit*len(lives); over > 0 {
				o.wrong[name] = over
			}
		}
	}
	for _, l := range lives {
		within := slices.DeleteFunc(slices.Clone(bySecond), func(r envoytest.Reply) bool { return !l.covers(r.Sent, r.Done) })
		if over := envoytest.MostWithin(within, time.Second) - secondLimit; over > 0 {
			o.wrong["second"] += over
		}
	}
	return o
}
