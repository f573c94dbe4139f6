package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sidecard/sidecard/internal/terminal"
	"github.com/sidecard/sidecard/pkg/admin"
)

// sampleTop is what a daemon says after so many seconds.
func sampleTop(after int) topSample {
	s := topSample{status: sampleStatus(), rules: sampleRules()}
	at := s.rules.Now.Add(time.Duration(after) * time.Second)
	s.status.Now, s.rules.Now = at, at
	s.status.UptimeSec += int64(after)
	for i := range s.rules.Rules {
		r := &s.rules.Rules[i]
		r.Passed += int64(after * (i + 1))
		r.Blocked += int64(after * 10 * (i % 2))
		if r.Shadow {
			r.ShadowBlock += int64(after * 3)
		}
	}
	s.resources = admin.Resources{
		Inbound: admin.Resource{Last: admin.Figures{Pass: 15, Block: 20, Success: 14, Error: 1, AvgRTMs: new(12.25)}, InFlight: new(int64(3))},
		Resources: []admin.Resource{
			{Name: "orders", Mode: "route", Ruled: true, Last: admin.Figures{Pass: 10, Block: 20, Success: 9, Error: 1, AvgRTMs: new(12.25)}, InFlight: new(int64(3))},
			{Name: "sea\x1brch", Mode: "route", Domain: "shop", NoReports: true, Last: admin.Figures{Pass: 5}},
			{Other: true, Mode: "route", NoReports: true},
		},
	}
	s.values = &admin.Top{Rule: "per-user", Param: "header x-user-id", Observed: 30, Values: []admin.Value{
		{Value: "bob", Bytes: 3, Count: 20, AtLeast: 20, Share: 0.667}, {Value: `x\x1b[31m`, Bytes: 90, Truncated: true, Count: 9, AtLeast: 7, Share: 0.233},
	}}
	return s
}

func TestTextOfTop(t *testing.T) {
	t.Parallel()
	before, now := sampleTop(0), sampleTop(2)
	v := viewTop(&before, &now)
	var b bytes.Buffer
	if err := writeLines(&b, v.lines(terminal.Size{})); err != nil {
		t.Fatal(err)
	}
	goldenText(t, "top", b.String())

	small := terminal.Size{Width: 50, Height: 14}
	b.Reset()
	if err := writeLines(&b, small.Clip(v.lines(small))); err != nil {
		t.Fatal(err)
	}
	goldenText(t, "top-small", b.String())
}

// A table fits whatever size the terminal has.
func TestTopFits(t *testing.T) {
	t.Parallel()
	before, now := sampleTop(0), sampleTop(2)
	v := viewTop(&before, &now)
	all := len(v.lines(terminal.Size{}))
	for height := 1; height < all+5; height++ {
		size := terminal.Size{Width: 20, Height: height}
		lines := size.Clip(v.lines(size))
		if want := min(height, all); len(lines) != want {
			t.Errorf("of %d lines %d are used, of %d in all", height, len(lines), all)
		}
	}
}

// The first table has no rates of rules, and counts that fell because a daemon is new are none.
func TestRatesOfTop(t *testing.T) {
	t.Parallel()
	now, later := sampleTop(0), sampleTop(4)
	for _, tc := range []struct {
		before, now *topSample
		pass, block float64
	}{{nil, &now, 0, 0}, {&now, &later, 2, 10}, {&later, &now, 0, 0}} {
		for _, r := range viewTop(tc.before, tc.now).Rules {
			if r.ID == "per-user" && (r.PassPerSec != tc.pass || r.BlockPerSec != tc.block) {
				t.Errorf("got %+v, want %+v", r, tc)
			}
		}
	}
}

// Resources are shown with what the last whole second brought, the busiest first, where the daemon keeps that.
func TestLastSecondOfTop(t *testing.T) {
	t.Parallel()
	now := sampleTop(0)
	now.resources.Resources = []admin.Resource{
		{Name: "unkept", Last: admin.Figures{Pass: 7}},
		{Name: "quiet", Last: admin.Figures{Pass: 6, AvgRTMs: new(1.5)}, History: &admin.History{
			Pass: []uint32{0}, Block: []uint32{0}, Success: []uint32{0}, Error: []uint32{0}, AvgRTMs: []float64{0}}},
		{Name: "busy", Last: admin.Figures{Pass: 5}, History: &admin.History{
			Pass: []uint32{1, 20}, Block: []uint32{1, 30}, Success: []uint32{1, 18}, Error: []uint32{1, 2}, AvgRTMs: []float64{1, 4.5}}},
	}
	v := viewTop(nil, &now)
	var got []string
	for _, r := range v.Resources {
		got = append(got, r.Name)
		if r.History != nil {
			t.Errorf("%s shows its past", r.Name)
		}
	}
	if !slices.Equal(got, []string{"busy", "unkept", "quiet"}) {
		t.Errorf("got %v", got)
	}
	if f := v.Resources[0].Last; f.Pass != 20 || f.Block != 30 || f.Success != 18 || f.Error != 2 || f.AvgRTMs == nil || *f.AvgRTMs != 4.5 {
		t.Errorf("got %+v", f)
	}
	if f := v.Resources[2].Last; f != (admin.Figures{}) {
		t.Errorf("a second without requests: got %+v", f)
	}
}

// screens collects what is drawn.
type screens struct{ drawn chan string }

func (s *screens) Write(p []byte) (int, error) {
	s.drawn <- string(p)
	return len(p), nil
}

// A table is drawn each second and when the size changes; a daemon that is away for a time does not end it.
func TestTopLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := &screens{drawn: make(chan string)}
		resized := make(chan os.Signal)
		var size atomic.Value
		size.Store(terminal.Size{Width: 200, Height: 50})
		asked := 0
		loop := topLoop{
			screen: screen, resized: resized, size: func() terminal.Size { return size.Load().(terminal.Size) },
			fetch: func(context.Context) (topSample, error) {
				if asked++; asked == 1 || asked == 4 {
					return topSample{}, errors.New("nobody\x1b there")
				}
				return sampleTop(asked), nil
			},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		begun := time.Now()
		go func() { ended <- loop.run(ctx) }()
		next := func(after time.Duration, wants ...string) {
			t.Helper()
			got := <-screen.drawn
			for _, want := range wants {
				if !strings.Contains(got, want) {
					t.Errorf("got %q without %q", got, want)
				}
			}
			if since := time.Since(begun); since != after {
				t.Errorf("drawn after %v, want %v", since, after)
			}
			if lines := strings.Count(got, "\r\n") + 1; lines > size.Load().(terminal.Size).Height {
				t.Errorf("%d lines on %v", lines, size.Load())
			}
		}
		next(0, `no answer: "nobody\x1b there"`)
		next(time.Second, "up 1m3s", "orders", "per-user")
		next(2*time.Second, "up 1m4s", "per-user      2       10 ")
		<-time.After(time.Second / 2)
		size.Store(terminal.Size{Width: 30, Height: 5})
		resized <- os.Interrupt
		next(2500*time.Millisecond, "up 1m4s")
		size.Store(terminal.Size{Width: 200, Height: 50})
		next(3*time.Second, "up 1m4s", "no answer since then: ")
		next(4*time.Second, "up 1m6s")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
