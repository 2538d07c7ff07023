package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// page is a server of the page, and how a program comes in.
type page struct {
	b              *bench
	server         *proc.Process
	address, token string
}

func (b *bench) data() string { return filepath.Join(b.dir, "data", "cco") }

func (b *bench) openPage(ctx context.Context) (*page, error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	p := &page{b: b}
	c := b.cmd(b.dir, filepath.Join(filepath.Dir(b.cco), "cco-cruise"), "view", "--json", "--listen", "127.0.0.1:0")
	c.Stdout, c.Stderr = out, os.Stderr
	p.server, err = proc.Start(ctx, c)
	_ = out.Close()
	if err != nil {
		return nil, err
	}
	var found struct{ Address string }
	if err := json.NewDecoder(in).Decode(&found); err != nil {
		return nil, errors.Join(err, p.server.Wait())
	}
	token, err := os.ReadFile(filepath.Join(b.data(), "view", "token"))
	p.address, p.token = found.Address, strings.TrimSpace(string(token))
	return p, err
}

func (p *page) close() {
	_ = p.server.Signal(syscall.SIGTERM)
	_ = p.server.Wait()
}

func (p *page) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.address+"/api/v1"+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+p.token)
	resp, err := http.DefaultClient.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return resp, err
}

// lines reads a stream of events, until each says that it has had enough.
func (p *page) lines(ctx context.Context, path string, each func(data string) bool) error {
	resp, err := p.get(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		if data, ok := strings.CutPrefix(in.Text(), "data: "); ok && !each(data) {
			return nil
		}
	}
	return in.Err()
}

// memory is the most that the server ever had in memory.
func (p *page) memory() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.server.Pid()))
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" {
			kb, _ := strconv.ParseFloat(f[1], 64)
			return kb / 1024
		}
	}
	return 0
}

// used is how much of a processor the server has used.
func (p *page) used() time.Duration { return used(p.server.Pid()) }

// used is how much of a processor a process has used.
func used(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, i := range []int{11, 12} { // of the user and of the system
		n, _ := strconv.ParseInt(f[i], 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// record makes the record of a session that no agent ran in.
func (b *bench) record(ctx context.Context, id string, state store.State) error {
	st, err := store.Open(ctx, filepath.Join(b.data(), "cco.db"))
	if err != nil {
		return err
	}
	now := time.Now()
	v := store.Session{ID: id, Box: "cco-sandbox", Backend: "native", Agent: "script", Repo: b.dir, Branch: "main",
		Base: strings.Repeat("0", 40), Origin: strings.Repeat("0", 40), Plan: "/exchange/plan.md", Title: "Session " + id,
		State: state, Created: now, Started: now}
	if state == store.Done {
		v.Finished = now
	}
	return errors.Join(st.AddSession(ctx, v), st.Close())
}

func (b *bench) sessionDir(id string) string { return filepath.Join(b.data(), "sessions", id) }

func (b *bench) transcript(id string) (*session.Transcript, error) {
	if err := os.MkdirAll(b.sessionDir(id), 0o700); err != nil {
		return nil, err
	}
	return session.OpenTranscript(filepath.Join(b.sessionDir(id), "transcript.jsonl"), time.Now)
}

func (b *bench) pushMany(ctx context.Context, repo string) ([]string, error) {
	ids, errs := make([]string, b.sessions), make([]error, b.sessions)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i], errs[i] = b.pushed(ctx, repo, "--detach") })
	}
	wg.Wait()
	return ids, errors.Join(errs...)
}

// viewLate measures how late a client hears of what agents say, and a browser paints it, with many at work: each
// prints the time.
func (b *bench) viewLate(ctx context.Context) error {
	repo := filepath.Join(b.dir, "late")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	const plan = "# Late\n\n## Task 1: Say when\n\n```sh\nbash -c 'exec 9<> <(:); for i in $(seq 120); do echo \"at " +
		"$EPOCHREALTIME\"; read -rt 0.5 -u 9; done'\n```\n"
	if err := b.commit(ctx, repo, "plan.md", plan); err != nil {
		return err
	}
	p, err := b.openPage(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	ids, err := b.pushMany(ctx, repo)
	if err != nil {
		return err
	}
	tab, done, err := p.tab(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := chromedp.Run(tab, chromedp.Navigate(p.address+"/session/"+ids[0]), onPage(says),
		chromedp.Evaluate(watchWords, nil)); err != nil {
		return err
	}
	late := p.heard(ctx, ids)
	var painted []float64
	if err := chromedp.Run(tab, chromedp.Evaluate("window.late", &painted)); err != nil {
		return err
	}
	if len(late) < 10*len(ids) || len(painted) < 10 {
		return fmt.Errorf("only %d events were heard, %d painted", len(late), len(painted))
	}
	slices.Sort(painted)
	b.rows = append(b.rows,
		row{fmt.Sprintf("from an agent's word to a client of its stream, %d sessions at work (p50, p99)",
			len(ids)), ms(late[len(late)/2]) + ", " + ms(late[len(late)*99/100]), "", "", "100 ms"},
		row{fmt.Sprintf("until it is painted in a browser, of %d words (p50, p99)", len(painted)),
			fmt.Sprintf("%.0f ms, %.0f ms", painted[len(painted)/2], painted[len(painted)*99/100]), "", "", "100 ms"})
	for _, id := range ids {
		_ = b.quiet(ctx, repo, b.cco, "box", "kill", id) // some have ended
	}
	return nil
}

// heard gives how late clients of sessions' streams heard what agents printed, each of them a time.
func (p *page) heard(ctx context.Context, ids []string) []time.Duration {
	var mu sync.Mutex
	var late []time.Duration
	var wg sync.WaitGroup
	follow, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	began := time.Now()
	for _, id := range ids {
		wg.Go(func() {
			_ = p.lines(follow, "/sessions/"+id+"/events", func(data string) bool {
				heard := time.Now()
				_, text, ok := strings.Cut(data, `"text":"at `)
				secs, err := strconv.ParseFloat(strings.Split(text, `"`)[0], 64)
				said := time.UnixMicro(int64(secs * 1e6))
				if ok && err == nil && said.After(began.Add(2*time.Second)) { // not what it said before
					mu.Lock()
					late = append(late, heard.Sub(said))
					mu.Unlock()
				}
				return true
			})
		})
	}
	wg.Wait()
	slices.Sort(late)
	return late
}

// viewMany measures what one open page costs with many sessions at work, each of which says something every second.
func (b *bench) viewMany(ctx context.Context) error {
	const n, long = 200, 20 * time.Second
	var all []*session.Transcript
	for i := range n {
		id := fmt.Sprintf("%08x", 0xaa000000+i)
		if err := b.record(ctx, id, store.Running); err != nil {
			return err
		}
		t, err := b.transcript(id)
		if err != nil {
			return err
		}
		lock, err := os.OpenFile(filepath.Join(b.sessionDir(id), "keeper.lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
		all = append(all, t)
	}
	p, err := b.openPage(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	states := make(chan int, 1000)
	go func() {
		_ = p.lines(open, "/events", func(data string) bool { states <- strings.Count(data, `"last"`); return true })
	}()
	for seen := 0; seen < n; { // all are shown
		all[0].Add(session.KindOut, "said")
		for _, t := range all {
			t.Add(session.KindOut, "said")
		}
		select {
		case seen = <-states:
		case <-time.After(30 * time.Second):
			return errors.New("the page does not show all sessions")
		}
	}
	before, start := p.used(), time.Now()
	for time.Since(start) < long {
		for _, t := range all {
			t.Add(session.KindOut, fmt.Sprintf("said at %s", time.Now()))
		}
		time.Sleep(time.Second)
	}
	share := float64(p.used()-before) / float64(time.Since(start)) * 100
	b.rows = append(b.rows, row{fmt.Sprintf("%d sessions at work that speak every second, one page open", n),
		fmt.Sprintf("%.1f %% of a core, %.0f MB", share, p.memory()), "", "", "3 %"})
	return nil
}
