package localapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// Only so many large bodies are read at a time, whoever sends them slowly; small ones always are.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newBubble(t)
		large := fmt.Sprintf(`{"resource": "big", "attributes": {"x": "%s"}}`, strings.Repeat("y", smallBody))
		send := func(body io.Reader) answer {
			rec := &recorder{answer: answer{header: make(http.Header)}}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/decide", body)
			if err != nil {
				t.Error(err)
				return answer{}
			}
			w.handler.ServeHTTP(rec, req)
			rec.body = strings.TrimSpace(rec.text.String())
			return rec.answer
		}
		answers := make(chan answer)
		var writers []*io.PipeWriter
		for range maxLarge {
			r, slow := io.Pipe()
			writers = append(writers, slow)
			go func() { answers <- send(r) }()
			if _, err := io.WriteString(slow, large[:len(large)-1]); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		const pass = `200 {"allowed":true,"code":"pass"}`
		busy := `503 retry 1 {"error":"` + errLarge.Error() + `"}`
		if got := send(strings.NewReader(large)).String(); got != busy {
			t.Errorf("one large body more: got %s, want %s", got, busy)
		}
		if got := send(strings.NewReader(`{"resource": "big"}`)).String(); got != pass {
			t.Errorf("a small one: got %s", got)
		}
		for i, slow := range writers {
			if i%2 == 0 {
				slow.CloseWithError(errors.New("gone"))
			} else {
				io.WriteString(slow, "}")
				slow.Close()
			}
			want := []int{http.StatusBadRequest, http.StatusOK}[i%2]
			if got := <-answers; got.status != want {
				t.Errorf("got %v, want %d", got, want)
			}
		}
		if got := send(strings.NewReader(large)).String(); got != pass || w.svc.large.Load() != 0 {
			t.Errorf("afterwards: got %s, %d are large", got, w.svc.large.Load())
		}
	})
}
