package main

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// length is how long traffic runs before the pictures are taken.
const length = 5*time.Minute + 20*time.Second

// stream is what one kind of client sends.
type stream struct {
	rate    float64                      // requests a second, on average
	weight  func(second float64) float64 // of rate at that time; nil: always 1
	request func(url string, n int) *http.Request
}

// streams are the clients: a wave of orders with one user far too eager, a surge of searches, and a route that no rule names.
func streams() []stream {
	wave := func(s float64) float64 { return 1 + .35*math.Sin(s/37) + .12*math.Sin(s/5) }
	return []stream{
		{55, wave, func(url string, n int) *http.Request {
			return get(url+"/orders/"+strconv.Itoa(n%40), "x-user-id", "user-"+strconv.Itoa(rand.IntN(200)), envoytest.DelayHeader, latency(18, 30))
		}},
		{45, func(s float64) float64 {
			if s > 150 {
				return 1 + .2*math.Sin(s/11)
			}
			return .3
		}, func(url string, _ int) *http.Request {
			return get(url+"/orders", "x-user-id", "alice", envoytest.DelayHeader, latency(18, 30))
		}},
		{70, func(s float64) float64 {
			if s > 60 && s < 130 || s > 250 {
				return 1.9 + .2*math.Sin(s/7)
			}
			return .8 + .1*math.Sin(s/19)
		}, func(url string, n int) *http.Request {
			return get(url+"/search?q=shoe"+strconv.Itoa(n%9), envoytest.DelayHeader, latency(40, 80))
		}},
		{14, wave, func(url string, n int) *http.Request {
			return get(url+"/images/"+strconv.Itoa(n), envoytest.DelayHeader, latency(2, 4))
		}},
	}
}

// latency is a delay of the application, in milliseconds, with a long tail.
func latency(least, more int) string {
	tail := 1.0
	if rand.IntN(30) == 0 {
		tail = 4
	}
	return strconv.Itoa(least+int(rand.Float64()*float64(more)*tail)) + "ms"
}

// send sends all streams until the context ends, and closes the channel when nothing is under way any more.
func send(ctx context.Context, url string) <-chan struct{} {
	done := make(chan struct{})
	client := envoytest.NewClient("")
	began := time.Now()
	var wg sync.WaitGroup
	for _, s := range streams() {
		wg.Go(func() {
			for n := 0; ; n++ {
				rate := s.rate
				if s.weight != nil {
					rate *= s.weight(time.Since(began).Seconds())
				}
				pause := time.Duration(rand.ExpFloat64() / rate * float64(time.Second))
				if envoytest.Pause(ctx, pause) != nil {
					return
				}
				wg.Go(func() { envoytest.Send(client, s.request(url, n).WithContext(ctx)) })
			}
		})
	}
	go func() {
		wg.Wait()
		client.CloseIdleConnections()
		close(done)
	}()
	return done
}

// get makes a request; headers are name and value in turn.
func get(url string, headers ...string) *http.Request {
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err) // the addresses are the program's own
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}
