package envoytest

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxAtOnce bounds the requests of one load that are under way at a time.
const maxAtOnce = 64

// Load is a stream of requests at a steady pace. A machine that stalls makes it send late, never
// more than Total.
type Load struct {
	Every time.Duration // from one request to the next
	Total int
	// Until ends the load early when it is closed, and lets what is under way come to its end; nil: never.
	Until <-chan struct{}
	// Request makes the n-th request, counted from 0; it is called from one goroutine.
	Request func(n int) *http.Request
}

// Run sends the load and returns one reply for each request sent, in order of sending. It ends
// early with the context.
func (l Load) Run(ctx context.Context, client *http.Client) []Reply {
	replies := make([]Reply, l.Total)
	slots := make(chan struct{}, maxAtOnce)
	var wg sync.WaitGroup
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	sent := 0
send:
	for ; sent < l.Total; sent++ {
		timer.Reset(time.Until(start.Add(time.Duration(sent) * l.Every)))
		select {
		case <-timer.C:
		case <-l.Until:
			break send
		case <-ctx.Done():
			break send
		}
		request := l.Request(sent).WithContext(ctx)
		reply := &replies[sent]
		slots <- struct{}{}
		wg.Go(func() {
			*reply = Send(client, request)
			<-slots
		})
	}
	wg.Wait()
	return replies[:sent]
}

// Send sends one request and reads its answer to the end.
func Send(client *http.Client, request *http.Request) Reply {
	reply := Reply{Sent: time.Now()}
	response, err := client.Do(request)
	if err != nil {
		reply.Done, reply.Err = time.Now(), err
		return reply
	}
	defer response.Body.Close()
	_, reply.Err = io.Copy(io.Discard, response.Body)
	reply.Done = time.Now()
	reply.Status = response.StatusCode
	reply.Rule = DecidingRule(response.Header)
	return reply
}

// NewClient returns a client that sends from the given loopback address (empty: any), keeps its
// connections and follows no redirects.
func NewClient(from string) *http.Client {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	if from != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			DialContext:         dialer.DialContext,
			MaxIdleConnsPerHost: maxAtOnce,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
