package ruleview

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

func TestViewOfLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name                 string
		rule                 rule.LimitRule
		limit, window, bound string
	}{
		{"aligned", rule.LimitRule{Limit: 5, SampleCount: 10}, "5 per 2s", "aligned, 10 slots", "10 in any 2s"},
		{"aligned with a burst", rule.LimitRule{Limit: 5, Burst: 3, SampleCount: 2}, "5 per 2s, burst 3", "aligned, 2 slots", "13 in any 2s"},
		{"strict", rule.LimitRule{Limit: 5, Window: rule.WindowStrict, SampleCount: 10}, "5 per 2s", "strict, 10 slots", "5 in any 2s"},
		{"strict with a burst", rule.LimitRule{Limit: 5, Burst: 3, Window: rule.WindowStrict, SampleCount: 10}, "5 per 2s, burst 3", "strict, 10 slots", "8 in any 2s"},
		{"token bucket", rule.LimitRule{Limit: 5, Window: rule.WindowTokenBucket, Scale: 1}, "5 per 2s", "token-bucket", "9 in any 2s"},
		{"token bucket with a small burst", rule.LimitRule{Limit: 5, Burst: 3, Window: rule.WindowTokenBucket, Scale: 1}, "5 per 2s, burst 3", "token-bucket", "15 in any 2s"},
		{"token bucket with a large burst", rule.LimitRule{Limit: 5, Burst: 30, Window: rule.WindowTokenBucket, Scale: 1}, "5 per 2s, burst 30", "token-bucket", "44 in any 2s"},
		{"token bucket of 2.5 a second", rule.LimitRule{Limit: 5, Burst: 1, Window: rule.WindowTokenBucket, Scale: 2}, "5 per 2s, burst 1", "token-bucket", "7 in any 1s"},
		{"queueing", rule.LimitRule{Limit: 5, Behavior: rule.BehaviorQueue, Window: rule.WindowNone, MaxQueueing: time.Second / 2},
			"5 per 2s, one every 400ms, waiting below 500ms", "queue", "6 in any 2s"},
		{"queueing without a place", rule.LimitRule{Limit: 0, Behavior: rule.BehaviorQueue, Window: rule.WindowNone, MaxQueueing: time.Second / 2}, "0 per 2s", "queue", "0 in any 2s"},
		{"calls under way", rule.LimitRule{Limit: 5, Grade: rule.GradeConcurrency, Window: rule.WindowNone, Lease: time.Minute}, "5 at a time", "concurrency", "5 at a time"},
		{"no calls", rule.LimitRule{Grade: rule.GradeConcurrency, Window: rule.WindowNone, Lease: time.Minute, Shadow: true}, "0 at a time, shadow", "concurrency", "0 at a time"},
		{"in shadow", rule.LimitRule{Limit: 0, Shadow: true, SampleCount: 1}, "0 per 2s, shadow", "aligned, 1 slots", "0 in any 2s"},
		{"unlimited", rule.LimitRule{Limit: 7, Unlimited: true, SampleCount: 10}, "unlimited", "aligned, 10 slots", "-"},
		{"unlimited queueing", rule.LimitRule{Unlimited: true, Behavior: rule.BehaviorQueue, Window: rule.WindowNone, MaxQueueing: time.Second}, "unlimited", "queue", "-"},
	} {
		if tc.rule.Grade != rule.GradeConcurrency {
			tc.rule.Interval = 2 * time.Second
		}
		v := OfLimit(&tc.rule)
		if got := v.LimitText(); got != tc.limit {
			t.Errorf("%s: the limit is shown as %q, want %q", tc.name, got, tc.limit)
		}
		if got := v.WindowText(); got != tc.window {
			t.Errorf("%s: the window is shown as %q, want %q", tc.name, got, tc.window)
		}
		if got := v.Bound.String(); got != tc.bound {
			t.Errorf("%s: the bound is shown as %q, want %q", tc.name, got, tc.bound)
		}
	}
}

func TestViewOfAnUnlimitedRule(t *testing.T) {
	t.Parallel()
	view := View{Rules: []Limit{OfLimit(&rule.LimitRule{ID: "free", Resource: "r", Unlimited: true, Limit: 7, SampleCount: 10})}}
	var b bytes.Buffer
	if err := view.Write(&b); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "unlimited") || strings.Contains(text, "7") {
		t.Errorf("got\n%s", text)
	}
	text, err := json.Marshal(view)
	if err != nil || strings.Contains(string(text), "limit") || strings.Contains(string(text), "bound") {
		t.Errorf("got %s, %v", text, err)
	}
}

func TestTextOfBytes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 107_240: "104.7 KiB", 1 << 20: "1.0 MiB", 3 << 30: "3072.0 MiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}
