// Command shots takes the pictures of the page that the documentation shows: the shipped Envoy configuration, the
// example rules, six minutes of traffic with a surge in it, and the page as it then is, on a desk in both
// schemes and on a phone. `make screenshots` runs it from test/page.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// patience is how long anything that is waited for may take.
const patience = time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "shots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "shots")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil { // so that the names of rule files are short
		return err
	}
	const rules = "rules"
	for _, from := range []string{"rules", "breakers"} {
		if err := os.CopyFS(rules, os.DirFS(filepath.Join(root, "examples", from))); err != nil {
			return err
		}
	}
	port, err := envoytest.FreePort(ctx)
	if err != nil {
		return err
	}
	admin := "127.0.0.1:" + strconv.Itoa(port)
	stack, err := envoytest.Start(ctx, envoytest.Options{
		Envoy: os.Getenv("ENVOY"), Sidecard: os.Getenv("SIDECARD"), Bootstrap: filepath.Join(root, "envoy/envoy-outcomes.yaml"),
		Rules: rules, Dir: dir, Args: []string{"--admin", "tcp:" + admin},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Stop()) }()
	if err := stack.WaitReady(ctx); err != nil {
		return err
	}
	url := "http://" + admin + "/"
	fmt.Println("six minutes of traffic; the page is at", url)
	traffic, end := context.WithCancel(ctx)
	defer end()
	done := send(traffic, stack.URL)
	if err := errors.Join(envoytest.Pause(ctx, length), take(ctx, url, filepath.Join(root, "docs/img"))); err != nil {
		return err
	}
	end()
	<-done
	return nil
}

// picture is one that is taken.
type picture struct {
	file          string
	scheme        string
	width, height int64
	scale         float64
	query         string
}

var pictures = []picture{
	{"page.png", "light", 1280, 1010, 1, ""},
	{"page-dark.png", "dark", 1280, 1010, 1, ""},
	{"page-phone.png", "light", 390, 844, 1.5, ""},
	{"page-explain.png", "light", 1280, 620, 1, "?ask=1&resource=orders&path=/orders/7&method=GET&attributes=header.x-user-id%3Dalice#explain"},
}

// take takes all pictures, one after the other.
func take(ctx context.Context, url, into string) error {
	path, err := exec.LookPath(os.Getenv("CHROMIUM"))
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, free := chromedp.NewExecAllocator(ctx, options...)
	defer free()
	ctx, stop := chromedp.NewContext(ctx)
	defer stop()
	if err := chromedp.Do(ctx); err != nil {
		return err
	}
	for _, p := range pictures {
		if err := p.take(ctx, url, into); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	return nil
}

func (p picture) take(browser context.Context, url, into string) error {
	ctx, end := chromedp.NewContext(browser)
	defer end()
	if err := chromedp.Do(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := chromedp.Do(ctx,
		command(emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: p.width, Height: p.height, DeviceScaleFactor: p.scale, Mobile: p.width < 500,
		}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: p.scheme}},
		}),
		chromedp.Navigate(url+p.query),
		// Values are gathered from the first look on; the rest is there at once.
		chromedp.Poll[chromedp.Void](`document.querySelector("#limited td .value")`, chromedp.WithPollingInterval(100*time.Millisecond), chromedp.WithPollingTimeout(0)),
	)
	if err != nil {
		return err
	}
	if err := envoytest.Pause(ctx, 12*time.Second); err != nil { // so that many have been seen
		return err
	}
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	if data, err = compress(data); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(into, p.file), data, 0o644)
}

// command is a step of the browser's protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}
