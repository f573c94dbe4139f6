package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// withCount returns the rule files with another count for one rule.
func withCount(files map[string][]byte, id string, count int) (map[string][]byte, error) {
	const name = "gw-flow-rules.json"
	var rules []map[string]any
	if err := json.Unmarshal(files[name], &rules); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	found := false
	for _, r := range rules {
		if r["id"] == id {
			r["count"], found = count, true
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: no rule %s", name, id)
	}
	data, err := json.MarshalIndent(rules, "", "  ")
	if err != nil {
		return nil, err
	}
	changed := maps.Clone(files)
	changed[name] = data
	return changed, nil
}

// waitForCount asks through Envoy until the answer shows the new limit.
func waitForCount(ctx context.Context, url string, count int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	want := fmt.Sprintf("%d, %d;", count, count)
	return envoytest.Poll(ctx, "the changed rule", func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		request.Close = true
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		got := response.Header.Get("X-Ratelimit-Limit")
		return strings.HasPrefix(got, want), fmt.Errorf("x-ratelimit-limit is %q", got)
	})
}
