package rule

import (
	"fmt"
	"testing"
)

// Ids and views go by these words, so that they must stay what rule files take.
func TestWordsOfTheModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value fmt.Stringer
		want  string
	}{
		{ModeRoute, "route"}, {ModeAPI, "api"}, {ResourceMode(9), ""},
		{MatchExact, "exact"}, {MatchPrefix, "prefix"}, {MatchRegex, "regex"}, {MatchContains, "contains"}, {MatchStrategy(9), ""},
		{PathExact, "exact"}, {PathPrefix, "prefix"}, {PathRegex, "regex"}, {PathMatch(9), ""},
		{GradeQPS, "qps"}, {GradeConcurrency, "concurrency"}, {Grade(9), ""},
		{BehaviorReject, "reject"}, {BehaviorQueue, "queue"}, {ControlBehavior(9), ""},
		{WindowAligned, "aligned"}, {WindowStrict, "strict"}, {WindowTokenBucket, "token-bucket"}, {WindowNone, "none"}, {WindowMode(9), ""},
		{MissingSkip, "skip"}, {MissingLimit, "limit"}, {MissingBlock, "block"}, {OnMissing(9), ""},
		{OverflowSketch, "sketch"}, {OverflowBlock, "block"}, {OverflowAllow, "allow"}, {Overflow(9), ""},
		{GradeSlowRatio, "slow_ratio"}, {GradeErrorRatio, "error_ratio"}, {GradeErrorCount, "error_count"}, {GradeAverageRT, "avg_rt"}, {DegradeGrade(9), ""},
		{OpenAbove, "above"}, {OpenReached, "reached"}, {OpenAt(9), ""},
		{SourceClientIP, "client_ip"}, {SourceHost, "host"}, {SourceHeader, "header"}, {SourceURLParam, "url_param"}, {SourceCookie, "cookie"}, {SourceRoute, "route"}, {SourceRoute + 1, ""},
	} {
		if got := tc.value.String(); got != tc.want {
			t.Errorf("%T %d: got %q, want %q", tc.value, tc.value, got, tc.want)
		}
	}
}
