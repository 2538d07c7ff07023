package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/proc"
)

// tab opens a browser that has come in.
func (p *page) tab(ctx context.Context) (tab context.Context, done func(), err error) {
	program, err := proc.LookPath("chromium")
	if err != nil {
		return nil, nil, err
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.WindowSize(1440, 900),
		chromedp.UserDataDir(filepath.Join(p.b.dir, "chromium")), chromedp.WSURLReadTimeout(2*time.Minute))
	if os.Getuid() == 0 {
		opts = append(opts, chromedp.NoSandbox)
	}
	alloc, stop := chromedp.NewExecAllocator(ctx, opts...)
	tab, end := chromedp.NewContext(alloc)
	done = func() {
		end()
		stop()
	}
	c := p.b.cmd(p.b.dir, filepath.Join(filepath.Dir(p.b.cco), "cco-cruise"), "view", "--open")
	c.Env = append(c.Env, "BROWSER=true")
	if _, err = proc.Output(ctx, c); err == nil {
		err = chromedp.Run(tab, chromedp.Navigate("file://"+filepath.Join(p.b.data(), "view", "open.html")),
			onPage(shown+" > 0"))
	}
	if err != nil {
		done()
	}
	return tab, done, err
}

// shown is when the page had its state; the times and the count of bytes are those of the browser's own.
const (
	shown = `performance.getEntriesByName('shown')[0]?.startTime || 0`
	size  = `['navigation', 'resource'].flatMap(k => performance.getEntriesByType(k)).
		reduce((n, e) => n + e.encodedBodySize, 0)`
)

// viewFirst compares the first load of the page, until its state is shown, with a static page of the same size.
func (b *bench) viewFirst(ctx context.Context) error {
	p, err := b.openPage(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	tab, done, err := p.tab(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := chromedp.Run(tab, network.SetCacheDisabled(true)); err != nil {
		return err
	}
	var bytes float64
	load := func(url, done, when string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			var at float64
			err := chromedp.Run(tab, chromedp.Navigate(url), onPage(done), chromedp.Evaluate(when, &at))
			return time.Duration(at * float64(time.Millisecond)), err
		}
	}
	ours := load(p.address+"/", shown+" > 0", shown)
	if _, err := ours(); err != nil {
		return err
	}
	if err := chromedp.Run(tab, chromedp.Evaluate(size, &bytes)); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	text := "<!doctype html><title>static</title><h1>Static</h1><p>" + strings.Repeat("static words ", int(bytes)/13)
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(text))
	})}
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	const painted = `performance.getEntriesByType('navigation')[0].loadEventEnd`
	a, static, err := alternate(15, ours, load("http://"+l.Addr().String()+"/", painted+" > 0", painted))
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"first load of the page until it shows its state, beside a static page of its size",
		fmt.Sprintf("%.0f KB, %s", bytes/1e3, ms(a)), ms(static), ratio(a, static), "60 KB, 3×"})
	return nil
}

// onPage waits until something is true on a page. One that is being left can't be asked.
func onPage(is string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			var ok bool
			if err := chromedp.Evaluate("Boolean("+is+")", &ok).Do(ctx); err == nil && ok {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return fmt.Errorf("%s never was", is)
	})
}
