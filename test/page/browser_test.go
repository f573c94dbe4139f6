// Package page holds the page of the admin address to what it promises, in a real Chromium: `make page` builds the
// daemon and fetches the browser; SIDECARD and CHROMIUM name the binaries.
package page

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is the Chromium that all tests have a tab of; nil: there is none, and why.
var (
	browser context.Context
	missing string
)

func TestMain(m *testing.M) {
	path, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
	if err != nil {
		missing = fmt.Sprintf("no Chromium (%v): install one, or name it with CHROMIUM", err)
		fmt.Fprintln(os.Stderr, "the page is not tested in a browser:", missing)
		os.Exit(m.Run())
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium does not start:", err)
		os.Exit(1)
	}
	browser = ctx
	code := m.Run()
	stop()
	free()
	os.Exit(code)
}

// limit is how long any one thing that a test waits for may take on a machine that is busy.
const limit = 30 * time.Second

// tab is a tab with cookies, storage and cache of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // URLs
	problems []string // what the console says
	expected []string // problems with such a text are none
}

// open opens the page in a tab of its own. When the test ends, nothing must have been complained of on the console and
// nothing asked of anybody else.
func open(t *testing.T, url string, before ...step) *tab {
	t.Helper()
	if browser == nil {
		t.Skip(missing)
	}
	tb := &tab{t: t}
	ctx, end := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(tb.hear))
	tb.ctx = ctx
	t.Cleanup(func() {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		for _, p := range tb.problems {
			t.Errorf("on the console: %s", p)
		}
		origin := url[:strings.Index(url[len("http://"):], "/")+len("http://")]
		for _, r := range tb.requests {
			if !strings.HasPrefix(r, origin+"/") {
				t.Errorf("the page asks for %s", r)
			}
		}
		end()
	})
	if err := chromedp.Do(ctx); err != nil { // opens the tab, which lives as long as this context
		t.Fatal(err)
	}
	tb.run(command(log.Enable, cdp.Empty{}), command(network.Enable, network.EnableParams{}))
	tb.run(before...)
	tb.run(chromedp.Navigate(url))
	return tb
}

// hear notes what the browser tells of the tab.
func (tb *tab) hear(event any) {
	problem := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		tb.mu.Lock()
		tb.requests = append(tb.requests, e.Request.URL)
		tb.mu.Unlock()
	case *runtime.EventExceptionThrown:
		problem = fmt.Sprintf("%s line %d %v", e.ExceptionDetails.Text, e.ExceptionDetails.LineNumber, e.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
		for _, a := range e.Args {
			problem += fmt.Sprintf(" %s", a.Value)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if problem == "" {
		return
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, text := range tb.expected {
		if strings.Contains(problem, text) {
			return
		}
	}
	tb.problems = append(tb.problems, problem)
}

// expect says that the console may have a text.
func (tb *tab) expect(text string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.expected = append(tb.expected, text)
}

// asked returns how many requests the page has made.
func (tb *tab) asked() int {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return len(tb.requests)
}

// step is something done with a tab.
type step = chromedp.Action[chromedp.Void]

// command is a step of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

func (tb *tab) run(steps ...step) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, limit)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		tb.t.Fatal(err)
	}
}

// get returns what an action gives.
func get[T any](tb *tab, a chromedp.Action[T]) T {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, limit)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		tb.t.Fatal(err)
	}
	return v
}

// eval returns what an expression gives.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	return get(tb, chromedp.Evaluate[T](expression))
}

// do runs an expression for what it does.
func (tb *tab) do(expression string) {
	tb.t.Helper()
	tb.run(chromedp.Evaluate[chromedp.Void](expression))
}

// click clicks on an element.
func (tb *tab) click(selector string) {
	tb.t.Helper()
	tb.run(chromedp.Click(chromedp.CSS(selector)))
}

// text returns what a reader sees of an element.
func (tb *tab) text(selector string) string {
	tb.t.Helper()
	return eval[string](tb, fmt.Sprintf("document.querySelector(%q)?.innerText ?? ''", selector))
}

// wait waits until an expression is true.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	ctx, cancel := context.WithTimeout(tb.ctx, limit)
	defer cancel()
	poll := chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(0))
	if err := chromedp.Do(ctx, poll); err != nil {
		tb.t.Fatalf("waited in vain for %s: %v; the page says:\n%s", expression, err, tb.text("body"))
	}
}

// waitText waits until an element has a text.
func (tb *tab) waitText(selector, text string) {
	tb.t.Helper()
	tb.wait(fmt.Sprintf("(document.querySelector(%q)?.innerText ?? '').includes(%q)", selector, text))
}
