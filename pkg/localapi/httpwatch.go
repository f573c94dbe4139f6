package localapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

// watch writes server-sent events, each of them before the next is made, so that a slow reader is told less
// and nothing piles up. One that does not read at all is left.
func (h httpService) watch(w http.ResponseWriter, r *http.Request) {
	resource, err := watched(r)
	begun := false
	if err == nil {
		err = h.s.watch(r.Context(), resource, func(s *sidecardv1.Statistics) error {
			if !begun {
				begun = true
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Cache-Control", "no-store")
			}
			limitWriting(w)
			if err := writeEvent(w, statisticsJSON(s)); err != nil {
				return err
			}
			return http.NewResponseController(w).Flush()
		})
	}
	if err != nil && !begun {
		h.failure(err, nil).write(w)
	}
}

// watched returns the resource that is asked for; empty: all.
func watched(r *http.Request) (string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return "", &fault{"", -1, "malformed URL parameters: " + err.Error()}
	}
	if len(values["resource"]) > 1 {
		return "", &fault{"resource", -1, "stands there twice"}
	}
	resource := values.Get("resource")
	values.Del("resource")
	for name := range values {
		return "", &fault{"", -1, fmt.Sprintf("unknown URL parameter %q; there is resource", clip(name))}
	}
	return resource, nil
}

// writeEvent writes one event. JSON has no line break inside, which would end it.
func writeEvent(w http.ResponseWriter, data any) error {
	var b bytes.Buffer
	b.WriteString("data: ")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(data); err != nil {
		return err
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}

// second is a Statistics as HTTP clients get it.
type second struct {
	Second    int64      `json:"second"`
	Resources []resource `json:"resources"`
}

// resource is a ResourceStatistics as HTTP clients get it.
type resource struct {
	Domain    string   `json:"domain,omitempty"`
	Resource  string   `json:"resource"`
	APIGroup  bool     `json:"apiGroup,omitempty"`
	Pass      int64    `json:"pass"`
	Block     int64    `json:"block"`
	Success   *int64   `json:"success,omitempty"`
	Exception *int64   `json:"exception,omitempty"`
	AvgRTMs   *float64 `json:"avgRtMs,omitempty"`
	MinRTMs   *float64 `json:"minRtMs,omitempty"`
	InFlight  *int64   `json:"inFlight,omitempty"`
}

func statisticsJSON(s *sidecardv1.Statistics) second {
	out := second{Second: s.Second, Resources: make([]resource, len(s.Resources))}
	for i, r := range s.Resources {
		out.Resources[i] = resource{
			Domain: r.Domain, Resource: r.Resource, APIGroup: r.ApiGroup, Pass: r.Pass, Block: r.Block,
			Success: r.Success, Exception: r.Exception, AvgRTMs: r.AvgRtMs, MinRTMs: r.MinRtMs, InFlight: r.InFlight,
		}
	}
	return out
}
