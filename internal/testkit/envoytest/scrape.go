package envoytest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Fetch gets a page of an admin or status port.
func Fetch(ctx context.Context, url string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	request.Close = true // no connection outlives the call
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	return response.StatusCode, string(data), err
}

// EnvoyCounter finds a counter in the text of Envoy's /stats page. Envoy shows none that has not
// been counted in, so one that is absent is 0.
func EnvoyCounter(stats, name string) (int64, error) {
	for line := range strings.Lines(stats) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, nil
}

// Sample finds a sample in Prometheus text: the first one of the given name whose labels contain
// every one of the given `label="value"` pairs. It returns the labels as written, and the value.
func Sample(text, name string, labels ...string) (found string, value float64, err error) {
lines:
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		cut := strings.LastIndexByte(rest, ' ')
		for _, label := range labels {
			if !strings.Contains(rest[:cut], label) {
				continue lines
			}
		}
		value, err := strconv.ParseFloat(rest[cut+1:], 64)
		return strings.TrimSpace(rest[:cut]), value, err
	}
	return "", 0, fmt.Errorf("no sample of %s %v", name, labels)
}
