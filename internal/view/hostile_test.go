//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// texts makes hostile words: tables, nesting, long lines, marks that never end, and mixtures of all of them.
func texts(r *rand.Rand, n int) (all []string) {
	const size = 32 << 10
	seeds := []string{"|", "|a", "|\n", "|-", ">", "> - ", "- ", "1. ", "  ", "\t", "[", "](", "[a](", "![", "*a ",
		"**a *",
		"_a_ ", "~~", "`", "``a`", "<!--", "<a ", "\\", "&amp;", "\n", "# ", "```\n", "\u202e", "<U+202E>", "x", "[a]: b\n",
		"* * *\n", "a\n-\n", "\r", "é"}
	cols := 1 << (4 + r.IntN(9))
	all = append(all, strings.Repeat("|a", cols)+"|\n"+strings.Repeat("|-", cols)+"|\n"+strings.Repeat("|\n", size/3),
		strings.Repeat("x", 1<<20))
	for len(all) < n {
		var b strings.Builder
		for b.Len() < size {
			part := ""
			for range 1 + r.IntN(4) {
				part += seeds[r.IntN(len(seeds))]
			}
			b.WriteString(strings.Repeat(part, 1+r.IntN(1<<r.IntN(15))))
		}
		all = append(all, b.String()[:size])
	}
	return all
}

// memory is what a process holds, and has held at most since it was last forgotten.
func memory(t *testing.T, pid int) (now, most int64) {
	t.Helper()
	data := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		switch f[0] {
		case "VmRSS:":
			now = must.Get(strconv.ParseInt(f[1], 10, 64))(t) << 10
		case "VmHWM:":
			most = must.Get(strconv.ParseInt(f[1], 10, 64))(t) << 10
		}
	}
	return now, most
}

// budget asks for something, and holds the answer to what it may cost. Time is the server's own, so that others on this
// machine count little.
type budget struct {
	t     *testing.T
	r     *viewtest.Rig
	slow  time.Duration
	large int64
}

// What hurt was minutes and gigabytes. The bar is a second and 100 MB, which a slow machine may miss: the figures are
// logged.
const (
	mostTime   = 10 * time.Second
	mostMemory = 400 << 20
)

func (b *budget) ask(what, path string) {
	b.t.Helper()
	pid := b.r.PID()
	must.Do(b.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)) // forget what it held at most
	before, _ := memory(b.t, pid)
	used := cpu(b.t, pid)
	resp, err := http.DefaultClient.Do(b.r.Request(b.t.Context(), http.MethodGet, path, nil))
	must.Do(b.t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	must.Do(b.t, errors.Join(err, resp.Body.Close()))
	took := cpu(b.t, pid) - used
	_, most := memory(b.t, pid)
	b.slow, b.large = max(b.slow, took), max(b.large, most-before)
	if resp.StatusCode != http.StatusOK || took > mostTime || most-before > mostMemory {
		b.t.Errorf("%s: %s gives %d, in %s of a core and %d MB", what, path, resp.StatusCode, took, (most-before)>>20)
	}
}

// cpu is how long a process was at work.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	data := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t))
	f := strings.Fields(data[strings.LastIndexByte(data, ')')+1:])
	user, system := must.Get(strconv.Atoi(f[11]))(t), must.Get(strconv.Atoi(f[12]))(t)
	return time.Duration(user+system) * time.Second / 100
}

// Guards against text of an agent's that takes the page's server minutes or gigabytes, or shuts it.
func TestHostileTextsCostLittle(t *testing.T) {
	r := viewtest.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	words := texts(random, 200)
	id := r.Push("Make many files", `for i in $(seq 1 400); do
  { echo 'package x'; head -c 20000 /dev/urandom | base64 -w60 | sed 's/^/	x := f("/; s/$/") \/* `+"`"+`/'; } >f$i.go
done
head -c 2000000 /dev/zero | tr '\0' 'x' >long.js
yes '+' | head -n 300000 >lines.txt
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "a(" }' >pieces.c
git add . ; git commit -qm Many`)
	r.Await(id, "done")
	file := filepath.Join(r.Data(), "sessions", id, "transcript.jsonl")
	out := must.Get(os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0))(t)
	for _, text := range words {
		line := must.Get(json.Marshal(session.Event{At: time.Now(), Kind: session.KindEvent,
			Agent: &event.Event{Kind: event.KindText, Text: text}}))(t)
		_ = must.Get(out.Write(append(line, '\n')))(t)
	}
	must.Do(t, out.Close())
	r.Serve()
	b := &budget{t: t, r: r}
	r.Run("cco", "box", "sessions") // it is awake
	b.ask("to begin with", "/state")
	var p struct{ Total int64 }
	resp, err := http.DefaultClient.Do(r.Request(t.Context(), http.MethodGet, "/sessions/"+id+"/transcript?limit=1", nil))
	must.Do(t, err)
	must.Do(t, errors.Join(json.NewDecoder(resp.Body).Decode(&p), resp.Body.Close()))
	for i := range words { // each alone
		b.ask(fmt.Sprintf("%.30q", words[i]), fmt.Sprintf("/sessions/%s/transcript?limit=1&first=%d", id, p.Total-int64(i)-1))
	}
	for _, path := range []string{"/sessions/" + id + "/transcript?limit=1000", "/sessions/" + id, "/state",
		"/sessions/" + id + "/search?q=zzz", "/sessions/" + id + "/search?q=a"} {
		b.ask("all words", path)
	}
	t.Logf("words: at most %s of a core and %d MB", b.slow, b.large>>20)
	// The gate takes its time for all of that, and no answer waits for it.
	first := b.changes(id, "")
	for until := time.Now().Add(15 * time.Minute); b.changes(id, "?file=f1.go").Examining; time.Sleep(time.Second) {
		if time.Now().After(until) {
			t.Fatal("the gate never comes to an end")
		}
	}
	t.Logf("the first answer came before the gate's: %v", first.Examining)
	names := map[string]int{}
	for _, path := range []string{"", "?file=f1.go", "?file=f400.go", "?file=long.js", "?file=lines.txt",
		"?file=pieces.c"} {
		used, git := cpu(t, r.PID()), children(t, r.PID())
		c := b.changes(id, path)
		if path == "" {
			for _, f := range c.Files {
				names[f.Path]++
			}
		}
		own, git := cpu(t, r.PID())-used, children(t, r.PID())-git
		t.Logf("changes%s: %s of a core, and %s of git's", path, own, git)
		if own > mostTime || git > 3*mostTime {
			t.Errorf("changes%s takes %s of a core, and %s of git's", path, own, git)
		}
	}
	for _, name := range []string{"f1.go", "f400.go", "long.js", "lines.txt", "pieces.c"} {
		if len(names) != 403 || names[name] != 1 {
			t.Errorf("of %d files, %s is there %d times", len(names), name, names[name])
		}
	}
	t.Logf("with changes: at most %d MB", b.large>>20)
	// What is cut can be seen whole.
	whole, err := http.DefaultClient.Do(r.Request(t.Context(), http.MethodGet, "/sessions/"+id+"/patch?file=long.js", nil))
	must.Do(t, err)
	n := must.Get(io.Copy(io.Discard, whole.Body))(t)
	if must.Do(t, whole.Body.Close()); n < 2_000_000 {
		t.Errorf("a long line has %d bytes as a text", n)
	}
}

// children is how long the programs were at work that a process has started and that have ended.
func children(t *testing.T, pid int) time.Duration {
	t.Helper()
	data := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))(t))
	f := strings.Fields(data[strings.LastIndexByte(data, ')')+1:])
	user, system := must.Get(strconv.Atoi(f[13]))(t), must.Get(strconv.Atoi(f[14]))(t)
	return time.Duration(user+system) * time.Second / 100
}

// changes asks for what a session changed, and holds the answer to the memory that it may take.
func (b *budget) changes(id, path string) (c api.Changes) {
	b.t.Helper()
	pid := b.r.PID()
	must.Do(b.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0))
	before, _ := memory(b.t, pid)
	start := time.Now()
	c = get[api.Changes](b.t, b.r, "/sessions/"+id+"/changes"+path)
	took := time.Since(start)
	_, most := memory(b.t, pid)
	b.large = max(b.large, most-before)
	b.t.Logf("changes%s: %s; %d MB; examining: %v", path, took, (most-before)>>20, c.Examining)
	if most-before > mostMemory {
		b.t.Errorf("changes%s takes %d MB", path, (most-before)>>20)
	}
	return c
}
