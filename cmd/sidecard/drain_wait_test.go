package main

import (
	"testing"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
)

// Of those that come together one passes and the others are to wait for an hour and longer.
const hourlyQueue = `[{"resource": "orders", "id": "orders", "count": 1, "intervalSec": 3500, "controlBehavior": 2, "maxQueueingTimeoutMs": 3600000}]`

// Calls that wait when the daemon is told to stop are refused at the end of the drain. None fails,
// which would let its request pass.
func TestStopAnswersThoseWhoWait(t *testing.T) {
	t.Parallel()
	d := start(t, withRules(t, hourlyQueue), "--drain", "10ms")
	d.log.wait(t, "ready, serving decisions", 1)
	conn := d.dial()
	if code, err := ask(t, conn, "orders"); code != rlspb.RateLimitResponse_OK || err != nil {
		t.Fatalf("the first: got %v, %v", code, err)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		orders := []*commonpb.RateLimitDescriptor_Entry{{Key: "resource", Value: "orders"}}
		// Without a deadline, which the queue would be compared with.
		answer, err := rlspb.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(),
			&rlspb.RateLimitRequest{Domain: "test", Descriptors: []*commonpb.RateLimitDescriptor{{Entries: orders}}})
		if answer.GetOverallCode() != rlspb.RateLimitResponse_OVER_LIMIT || err != nil {
			t.Errorf("the one that waits: got %v, %v", answer, err)
		}
	}()
	d.untilWaiting()
	d.stop()
	<-answered
	conn.Close()
	if code := d.exit(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
