package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
	"github.com/sidecard/sidecard/pkg/rule"
)

// load drives one rule to three times its limit, for each of the values at the same time.
type load struct {
	rule   string   // id of the rule
	values []string // values of the rule's parameter; for a rule without one, who sends
	make   func(value string, n int) *http.Request
}

// phases are the loads of which each phase runs all at the same time. Two loads that meet in one
// rule are in different phases.
func phases(url string) [][]load {
	return [][]load{
		{
			{"orders-100-strict", []string{"many users"}, func(_ string, n int) *http.Request {
				return get(url+"/orders", "x-user-id", "user-"+strconv.Itoa(n))
			}},
			{"search-100-aligned", []string{"anyone"}, func(string, int) *http.Request {
				return get(url + "/search?q=shoe")
			}},
			{"cart-per-session", []string{"a", "b"}, func(session string, _ int) *http.Request {
				return get(url+"/cart", "cookie", "theme=dark; session="+session)
			}},
			{"products-per-sku", []string{"7", "9"}, func(sku string, _ int) *http.Request {
				return get(url + "/products?colour=red&sku=" + sku)
			}},
			{"login-per-client", []string{"127.0.0.11", "127.0.0.12"}, func(string, int) *http.Request {
				return get(url + "/login")
			}},
			{"images-with-burst", []string{"anyone"}, func(_ string, n int) *http.Request {
				return get(url + "/images/" + strconv.Itoa(n))
			}},
			{"reports-one-by-one", []string{"anyone"}, func(string, int) *http.Request {
				return get(url + "/reports")
			}},
			{"internal-closed", []string{"anyone"}, func(_ string, n int) *http.Request {
				return get(url + []string{"/internal/debug", "/actuator", "//internal//", "/%69nternal/a"}[n%4])
			}},
		},
		{
			{"orders-per-user", []string{"alice", "bob"}, func(user string, _ int) *http.Request {
				return get(url+"/orders", "x-user-id", user)
			}},
			{"writes-30-strict", []string{"many sessions"}, func(_ string, n int) *http.Request {
				r := get(url+"/cart/items", "cookie", "session=w"+strconv.Itoa(n))
				r.Method = http.MethodPost
				return r
			}},
		},
	}
}

// The rule that changes while the demo runs, and its new count.
const (
	swapRule  = "search-100-aligned"
	swapCount = 40
)

// swapLoads drives the changed rule.
func swapLoads(url string) []load {
	return []load{{swapRule, []string{"anyone"}, func(string, int) *http.Request {
		return get(url + "/search?q=shoe")
	}}}
}

// get makes a request; headers are name and value in turn. The addresses are the demo's own, so
// that a bad one is a fault of the demo.
func get(url string, headers ...string) *http.Request {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// runAll sends loads at the same time and returns a row for each.
func runAll(ctx context.Context, loads []load, files map[string][]byte) ([]row, error) {
	rules, err := parse(files)
	if err != nil {
		return nil, err
	}
	for _, l := range loads {
		if _, ok := rules[l.rule]; !ok {
			return nil, fmt.Errorf("%s: no such rule in %s", l.rule, examples)
		}
	}
	rows := make([]row, len(loads))
	var wg sync.WaitGroup
	for i, l := range loads {
		wg.Go(func() { rows[i] = judge(rules[l.rule], l.values, l.run(ctx, rules[l.rule])) })
	}
	wg.Wait()
	return rows, ctx.Err()
}

// run sends a load for one phase and returns the replies of each value.
func (l load) run(ctx context.Context, r rule.LimitRule) [][]envoytest.Reply {
	every := 100 * time.Millisecond // for a rule that lets nothing pass
	if r.Limit > 0 {
		every = r.Interval / time.Duration(3*r.Limit)
	}
	replies := make([][]envoytest.Reply, len(l.values))
	var wg sync.WaitGroup
	for i, value := range l.values {
		address := ""
		if r.Param != nil && r.Param.Source == rule.SourceClientIP {
			address = value
		}
		wg.Go(func() {
			client := envoytest.NewClient(address)
			defer client.CloseIdleConnections()
			stream := envoytest.Load{Every: every, Total: int(phase / every), Request: func(n int) *http.Request { return l.make(value, n) }}
			replies[i] = stream.Run(ctx, client)
		})
	}
	wg.Wait()
	return replies
}
