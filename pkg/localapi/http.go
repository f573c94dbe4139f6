package localapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
)

const (
	maxBody = 256 << 10 // of a request
	// smallBody is what every connection may hold of a request. Of those that are larger no more than maxLarge
	// are read and answered at a time, so that all of them together stay below 64 MiB.
	smallBody = 8 << 10
	maxLarge  = 64
	// writing is how long a client may take to read an answer.
	writing = 10 * time.Second
)

// limitWriting bounds what is written from now on in time. Only writers of tests cannot be bounded.
func limitWriting(w http.ResponseWriter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writing))
}

// httpService turns HTTP requests into queries, and decisions and faults into answers.
type httpService struct{ s *Service }

// reply is an answer that is ready to be written.
type reply struct {
	status int
	allow  string // the method that would have been right; empty: it was
	// retry is how many milliseconds to wait before coming again, for the Retry-After header; nil: none.
	retry *int64
	body  any
	token string // of the call that the answer begins; empty: none
}

// answer returns a handler that reads the body of a request, lets f answer it, and writes the answer. One is
// written for a caller who has gone too: whoever has only closed his way to send still reads, and would
// take nothing for 200.
func (h httpService) answer(f func(r *http.Request, body []byte) (reply, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, large, err := h.readBody(w, r)
		if large {
			defer h.s.large.Add(-1)
		}
		var out reply
		if err == nil {
			out, err = f(r, body)
		}
		if err != nil {
			out = h.failure(err, body)
		}
		limitWriting(w)
		out.write(w)
		if out.token != "" && !delivered(w) {
			h.s.withdraw(out.token)
		}
	}
}

// delivered says whether an answer could be given to the other side's socket. Whether somebody reads it there is
// not known.
func delivered(w http.ResponseWriter) bool {
	err := http.NewResponseController(w).Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

// readBody reads the whole body, which the server's ReadTimeout bounds in time. Memory is taken for what has come, not
// for what is announced. If large is set, the body is one of maxLarge until its request has been answered.
func (h httpService) readBody(w http.ResponseWriter, r *http.Request) (body []byte, large bool, err error) {
	var b bytes.Buffer
	if n := r.ContentLength; n > 0 {
		b.Grow(int(min(n, smallBody)) + bytes.MinRead)
	}
	in := http.MaxBytesReader(w, r.Body, maxBody)
	switch _, err := io.CopyN(&b, in, smallBody+1); {
	case errors.Is(err, io.EOF):
		return b.Bytes(), false, nil
	case err != nil:
		return b.Bytes(), false, err
	}
	if h.s.large.Add(1) > maxLarge {
		h.s.large.Add(-1)
		return b.Bytes(), false, errLarge
	}
	_, err = b.ReadFrom(in)
	return b.Bytes(), true, err
}

func (h httpService) decide(r *http.Request, body []byte) (reply, error) {
	return h.one(r, body, false)
}

func (h httpService) acquire(r *http.Request, body []byte) (reply, error) {
	return h.one(r, body, true)
}

func (h httpService) one(r *http.Request, body []byte, begin bool) (reply, error) {
	byStatus, err := wantsStatus(r)
	if err != nil {
		return reply{}, err
	}
	q, err := readQuery(body)
	if err != nil {
		return reply{}, err
	}
	d, err := h.s.one(r.Context(), &h.s.cfg.Counters.HTTP, &q, begin)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: http.StatusOK, body: decisionJSON(d), token: d.Token}
	if byStatus && !d.Allowed {
		out.status, out.retry = http.StatusTooManyRequests, d.RetryAfterMs
	}
	return out, nil
}

func (h httpService) batch(r *http.Request, body []byte) (reply, error) {
	byStatus, err := wantsStatus(r)
	if err != nil {
		return reply{}, err
	}
	queries, atomic, err := readBatch(body)
	if err != nil {
		return reply{}, err
	}
	b, err := h.s.several(r.Context(), &h.s.cfg.Counters.HTTP, queries, atomic)
	if err != nil {
		return reply{}, err
	}
	out := reply{status: http.StatusOK, body: batchJSON(b)}
	if byStatus && !b.Allowed {
		out.status, out.retry = http.StatusTooManyRequests, longestRetry(b.Items)
	}
	return out, nil
}

// longestRetry returns when all items that are refused may come again; nil if that is not known of one.
func longestRetry(items []*sidecardv1.Decision) *int64 {
	var longest *int64
	for _, d := range items {
		switch {
		case d.Code != sidecardv1.Code_CODE_BLOCK:
		case d.RetryAfterMs == nil:
			return nil
		case longest == nil || *d.RetryAfterMs > *longest:
			longest = d.RetryAfterMs
		}
	}
	return longest
}

func (h httpService) complete(r *http.Request, body []byte) (reply, error) {
	if r.URL.RawQuery != "" {
		return reply{}, &fault{"", -1, fmt.Sprintf("unknown URL parameter %q; there is none", clip(r.URL.RawQuery))}
	}
	e, err := readEnd(body)
	if err != nil {
		return reply{}, err
	}
	if !h.s.complete(e) {
		return reply{}, errNoCall
	}
	return reply{status: http.StatusOK, body: struct{}{}}, nil
}

// wantsStatus says whether a refusal is to be told by the status.
func wantsStatus(r *http.Request) (bool, error) {
	by := false
	for _, pair := range strings.Split(r.URL.RawQuery, "&") {
		switch pair {
		case "":
		case "status=http":
			by = true
		default:
			return false, &fault{"", -1, fmt.Sprintf("unknown URL parameter %q; there is status=http", clip(pair))}
		}
	}
	return by, nil
}

// problem is the body of an answer that is no decision.
type problem struct {
	Error  string `json:"error"`
	Field  string `json:"field,omitempty"`
	Line   int    `json:"line,omitempty"` // from 1, as is Column
	Column int    `json:"column,omitempty"`
}

// failure answers a request that could not be carried out, and counts a malformed one.
func (h httpService) failure(err error, body []byte) reply {
	var f *fault
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		h.s.cfg.Counters.Invalid.Add(1)
		p := problem{Error: f.Error(), Field: f.field}
		if f.at >= 0 {
			p.Line, p.Column = place(body, f.at)
		}
		return reply{status: http.StatusBadRequest, body: p}
	case errors.As(err, &large):
		return reply{status: http.StatusRequestEntityTooLarge, body: problem{Error: fmt.Sprintf("the body is larger than %d bytes", large.Limit)}}
	case errors.Is(err, errNoRules), errors.Is(err, errLarge):
		return reply{status: http.StatusServiceUnavailable, retry: new(int64(1000)), body: problem{Error: err.Error()}}
	case errors.Is(err, errWatched):
		return reply{status: http.StatusServiceUnavailable, body: problem{Error: err.Error()}}
	case errors.Is(err, errNoCall):
		return reply{status: http.StatusConflict, body: problem{Error: err.Error(), Field: "token"}}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return reply{status: http.StatusServiceUnavailable, body: problem{Error: "given up by the caller before it was answered: " + err.Error()}}
	}
	return reply{status: http.StatusBadRequest, body: problem{Error: "the body could not be read: " + err.Error()}}
}

// write writes the answer. A client that has gone, or does not read, is nobody to tell.
func (r reply) write(w http.ResponseWriter) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(b.Len()))
	if r.allow != "" {
		header.Set("Allow", r.allow)
	}
	if r.retry != nil {
		header.Set("Retry-After", strconv.FormatInt((*r.retry+999)/1000, 10))
	}
	w.WriteHeader(r.status)
	io.Copy(w, &b)
}
