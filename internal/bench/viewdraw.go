package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// drawn presses a link and gives the milliseconds until something is true and painted.
const drawn = `(async () => {
	const frame = () => new Promise(requestAnimationFrame), from = performance.now();
	document.querySelector(%q).click();
	while (!(%s)) await frame();
	await frame();
	await new Promise(r => setTimeout(r));
	return performance.now() - from; })()`

// draws is the median of how long a page takes from a press on the way to it until it is painted whole.
func draws(tab context.Context, n int, from, link, done string) (time.Duration, error) {
	var all []time.Duration
	for range n {
		var took float64
		if err := chromedp.Run(tab, chromedp.Navigate(from), onPage("document.querySelector('"+link+"')"),
			onPage("document.documentElement.hasAttribute('data-calm')"), chromedp.Evaluate(fmt.Sprintf(drawn, link, done),
				&took, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })); err != nil {
			return 0, err
		}
		all = append(all, time.Duration(took*float64(time.Millisecond)))
	}
	return median(all), nil
}

// says is true once the page of a session shows a time that its agent printed.
const says = `/at \d{10}\.\d{6}/.test(document.body.textContent)`

// watchWords notes of each further time that an agent prints how many milliseconds later it was painted.
const watchWords = `{
	const seen = new Set(), from = Date.now();
	window.late = [];
	const look = () => {
		const fresh = [];
		for (const [, at] of document.body.textContent.matchAll(/at (\d{10}\.\d{6})/g)) {
			if (!seen.has(at) && at * 1000 > from) fresh.push(at);
			seen.add(at);
		}
		if (fresh.length) setTimeout(() => { for (const at of fresh) window.late.push(Date.now() - at * 1000); });
		requestAnimationFrame(look);
	};
	look();
}`

// viewHome measures how long the list of 200 sessions takes from a press until it is painted.
func (b *bench) viewHome(ctx context.Context) error {
	const n = 200
	_, end, err := b.atWork(ctx, 0xbb000000, n)
	defer end()
	if err != nil {
		return err
	}
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
	const rows = "document.querySelectorAll('.row').length >= 200"
	took, err := draws(tab, 9, p.address+"/log", `.top a[href="/"]`, rows)
	if err != nil {
		return err
	}
	var loads []time.Duration
	for range 9 {
		var at float64
		if err := chromedp.Run(tab, chromedp.Navigate(p.address+"/"), onPage(shown+" > 0"), onPage(rows),
			chromedp.Evaluate(shown, &at)); err != nil {
			return err
		}
		loads = append(loads, time.Duration(at*float64(time.Millisecond)))
	}
	b.rows = append(b.rows, row{fmt.Sprintf("the inbox with %d sessions, from a press and from a load until it is drawn",
		n), ms(took) + ", " + ms(median(loads)), "", "", "200 ms"})
	return nil
}

// viewLines measures how long 5,000 changed lines take from a press until all of them are there and the first are
// painted.
func (b *bench) viewLines(ctx context.Context) error {
	repo := filepath.Join(b.dir, "lines")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	const plan = "# Lines\n\n## Task 1: Write\n\n```sh\nfor i in $(seq 20); do\n" +
		"for j in $(seq 250); do echo \"func f$j(x int) string { return \\\"line $j\\\" } // $i\"; done >f$i.go\ndone\n" +
		"git add .\ngit commit -qm Many\n```\n"
	if err := b.commit(ctx, repo, "plan.md", plan); err != nil {
		return err
	}
	id, err := b.pushed(ctx, repo)
	if err != nil {
		return err
	}
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
	first, err := p.asked(ctx, "/sessions/"+id+"/changes")
	if err != nil {
		return err
	}
	const link, lines = `.tabs a[href$=changes]`, "document.getElementsByClassName('add').length >= 5000"
	took, err := draws(tab, 9, p.address+"/session/"+id, link, lines)
	if err != nil {
		return err
	}
	again, err := p.asked(ctx, "/sessions/"+id+"/changes")
	b.rows = append(b.rows, row{"5,000 changed lines, from a press until they are drawn", ms(took), "", "", "300 ms"},
		row{"its answer alone, the first time and again", ms(first) + ", " + ms(again), "", "", ""})
	return err
}

// asked is how long an answer takes.
func (p *page) asked(ctx context.Context, path string) (time.Duration, error) {
	start := time.Now()
	err := p.lines(ctx, path, func(string) bool { return true })
	return time.Since(start), err
}
