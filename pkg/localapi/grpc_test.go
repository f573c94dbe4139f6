package localapi

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

// decided writes a decision as HTTP clients get it, or the error.
func decided(d *sidecardv1.Decision, err error) string {
	if err != nil {
		return status.Code(err).String() + ": " + status.Convert(err).Message()
	}
	j := decisionJSON(d)
	out := fmt.Sprintf("%s %s %s", j.Code, j.Rule, j.Reason)
	if j.Limit != nil {
		out += fmt.Sprintf(" %d/%d", *j.Remaining, *j.Limit)
	}
	if j.RetryAfterMs != nil {
		out += fmt.Sprintf(" retry %d", *j.RetryAfterMs)
	}
	if j.WaitMs > 0 {
		out += fmt.Sprintf(" wait %d", j.WaitMs)
	}
	if j.Token != "" {
		out += " token"
	}
	return strings.Join(strings.Fields(out), " ")
}

// Both ways in share what they spend.
func TestGRPC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, ctx := w.dial(t), t.Context()
	query := func(resource string, hits int64) *sidecardv1.Query {
		return &sidecardv1.Query{Resource: resource, Hits: new(hits)}
	}
	w.post(t, "/v1/decide", `{"resource": "orders"}`)
	bob := map[string]string{"user": "bob"}
	for _, c := range []struct {
		call func(context.Context, *sidecardv1.Query) (*sidecardv1.Decision, error)
		q    *sidecardv1.Query
		want string
	}{
		{w.decide(client), &sidecardv1.Query{Resource: "orders"}, "pass orders 1/3"},
		{w.decide(client), query("orders", 2), "block orders limit 0/3 retry 60000"},
		{w.decide(client), &sidecardv1.Query{Resource: "orders", Peek: true}, "pass orders 1/3"},
		{w.decide(client), &sidecardv1.Query{Domain: "shop", Resource: "users", Attributes: bob}, "pass users 1/2"},
		{w.decide(client), &sidecardv1.Query{Resource: "queue", TellWait: true}, "pass queue 2/2"},
		{w.decide(client), &sidecardv1.Query{Resource: "queue", TellWait: true}, "wait queue 2/2 wait 500"},
		{w.decide(client), &sidecardv1.Query{Resource: "queue", MaxWaitMs: new(int64(10))}, "block queue deadline 0/2 retry 990"},
		{w.decide(client), query("at-once", 2), "pass at-once 0/2"},
		{w.acquire(client), query("at-once", 2), "pass at-once 0/2 token"},
		{w.acquire(client), query("at-once", 1), "block at-once limit 0/2"},
		{w.decide(client), query("orders", 0), "InvalidArgument: hits: 0 is below 1; to ask without taking anything, set peek"},
		{w.decide(client), &sidecardv1.Query{MaxWaitMs: new(int64(-1))}, "InvalidArgument: max_wait_ms: -1 is below 0; leave it out to wait as long as the rules want"},
		{w.decide(client), &sidecardv1.Query{Attributes: map[string]string{"headr.x": ""}}, `InvalidArgument: attributes: "headr.x" is no attribute: a name with a dot begins with that of a kind: header, query, cookie or arg; did you mean "header.x"?`},
		{w.decide(client), &sidecardv1.Query{Args: make([]string, maxArgs+1)}, "InvalidArgument: args: 65 arguments; a call has at most 64"},
		{w.acquire(client), &sidecardv1.Query{Peek: true}, "InvalidArgument: peek: a look begins no call; ask decide"},
	} {
		if got := decided(c.call(ctx, c.q)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.q, got, c.want)
		}
	}
}

func (w *world) decide(c sidecardv1.DecisionServiceClient) func(context.Context, *sidecardv1.Query) (*sidecardv1.Decision, error) {
	return func(ctx context.Context, q *sidecardv1.Query) (*sidecardv1.Decision, error) { return c.Decide(ctx, q) }
}

func (w *world) acquire(c sidecardv1.DecisionServiceClient) func(context.Context, *sidecardv1.Query) (*sidecardv1.Decision, error) {
	return func(ctx context.Context, q *sidecardv1.Query) (*sidecardv1.Decision, error) { return c.Acquire(ctx, q) }
}

func TestGRPCComplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, ctx := w.dial(t), t.Context()
	d, err := client.Acquire(ctx, &sidecardv1.Query{Resource: "at-once"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    *sidecardv1.CompleteRequest
		want codes.Code
	}{
		{&sidecardv1.CompleteRequest{}, codes.InvalidArgument},
		{&sidecardv1.CompleteRequest{Token: d.Token, RtMs: new(int64(-1))}, codes.InvalidArgument},
		{&sidecardv1.CompleteRequest{Token: d.Token, RtMs: new(int64(0)), Error: true}, codes.OK},
		{&sidecardv1.CompleteRequest{Token: d.Token}, codes.FailedPrecondition},
		{&sidecardv1.CompleteRequest{Token: "x"}, codes.FailedPrecondition},
	} {
		if _, err := client.Complete(ctx, c.m); status.Code(err) != c.want {
			t.Errorf("%v: got %v, want %v", c.m, err, c.want)
		}
	}
	if n := w.inFlight("at-once"); n != 0 {
		t.Errorf("%d calls are under way", n)
	}
}

func TestGRPCBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, ctx := w.dial(t), t.Context()
	orders, closed := &sidecardv1.Query{Resource: "orders"}, &sidecardv1.Query{Resource: "closed"}
	for _, c := range []struct {
		m    *sidecardv1.BatchRequest
		want string
	}{
		{&sidecardv1.BatchRequest{Items: []*sidecardv1.Query{orders, closed}, Atomic: true}, "false: pass orders 3/3, block closed limit 0/0"},
		{&sidecardv1.BatchRequest{Items: []*sidecardv1.Query{orders, closed}}, "false: pass orders 2/3, block closed limit 0/0"},
		{&sidecardv1.BatchRequest{Items: []*sidecardv1.Query{orders, orders}}, "true: pass orders 1/3, pass orders 0/3"},
		{&sidecardv1.BatchRequest{}, "items: is empty; ask for at least one decision"},
		{&sidecardv1.BatchRequest{Items: make([]*sidecardv1.Query, maxItems+1)}, "items: 129 items; a batch holds at most 128"},
		{&sidecardv1.BatchRequest{Items: []*sidecardv1.Query{orders, {Hits: new(int64(-1))}}}, "items[1].hits: -1 is below 1; to ask without taking anything, set peek"},
	} {
		out, err := client.Batch(ctx, c.m)
		got := status.Convert(err).Message()
		if err == nil {
			parts := make([]string, len(out.Items))
			for i, d := range out.Items {
				parts[i] = decided(d, nil)
			}
			got = fmt.Sprintf("%v: %s", out.Allowed, strings.Join(parts, ", "))
		}
		if got != c.want {
			t.Errorf("%v: got %q, want %q", c.m, got, c.want)
		}
	}
}

func TestGRPCBeforeTheFirstRules(t *testing.T) {
	t.Parallel()
	w := &world{}
	w.build(func() int64 { return epoch })
	client := w.dial(t)
	if _, err := client.Decide(t.Context(), &sidecardv1.Query{}); status.Code(err) != codes.Unavailable {
		t.Errorf("decide: got %v", err)
	}
	if _, err := client.Batch(t.Context(), &sidecardv1.BatchRequest{Items: []*sidecardv1.Query{{}}}); status.Code(err) != codes.Unavailable {
		t.Errorf("batch: got %v", err)
	}
}

// A held answer comes at its time, before the deadline, or not at all.
func TestGRPCHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		g := grpcService{s: w.svc}
		began := time.Now()
		ask := func(ctx context.Context) string {
			got := decided(g.Decide(ctx, &sidecardv1.Query{Resource: "queue"}))
			return fmt.Sprintf("%v %s", time.Since(began), got)
		}
		within := func(d time.Duration) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(600*time.Millisecond, leave)
		for i, c := range []struct {
			ctx  context.Context
			want string
		}{
			{t.Context(), "0s pass queue 2/2"},
			{within(504 * time.Millisecond), "0s block queue deadline 0/2 retry 1"},
			{within(505 * time.Millisecond), "500ms pass queue 0/2"},
			{leaving, "600ms Canceled: context canceled"},
			{t.Context(), "1s pass queue 2/2"},
		} {
			if got := ask(c.ctx); got != c.want {
				t.Errorf("call %d: got %q, want %q", i, got, c.want)
			}
		}
	})
}
