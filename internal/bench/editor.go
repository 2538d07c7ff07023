package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// anEditor speaks with `cco acp`.
type anEditor struct {
	in   *os.File
	from *bufio.Reader
}

// ask asks for something, calls each for the words that come, and gives the answer's result.
func (e *anEditor) ask(method, params string, each func(text string)) (json.RawMessage, error) {
	if _, err := fmt.Fprintf(e.in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`+"\n", method, params); err != nil {
		return nil, err
	}
	for {
		line, err := e.from.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			Method string
			Params struct {
				Update struct{ Content json.RawMessage }
			}
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		var content struct{ Text string }
		switch {
		case m.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, m.Error)
		case m.Method == "":
			return m.Result, nil
		case json.Unmarshal(m.Params.Update.Content, &content) == nil:
			each(content.Text)
		}
	}
}

var saidAt = regexp.MustCompile(`now (\d+)[.,](\d{6})`)

// editor measures how late an agent's words reach an editor, by the agent's own clock, and how long the quarantine and
// the take of a small turn last: from the end that its keeper has recorded until the editor has its answer.
func (b *bench) editor(ctx context.Context) error {
	repo := filepath.Join(b.dir, "editor")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	if err := b.commit(ctx, repo, "a.txt", "a\n"); err != nil {
		return err
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		return err
	}
	from, out, err := os.Pipe()
	if err != nil {
		return err
	}
	c := b.cmd(repo, b.cco, "acp", "--agent", "script", "--take", "each-turn")
	c.Stdin, c.Stdout = theirs, out
	p, err := proc.Start(ctx, c)
	_, _ = theirs.Close(), out.Close()
	if err != nil {
		return err
	}
	defer func() { _, _ = in.Close(), p.Wait() }()
	e := &anEditor{in, bufio.NewReader(from)}
	if _, err := e.ask("initialize", `{"protocolVersion":1,"clientCapabilities":{}}`, nil); err != nil {
		return err
	}
	began, err := e.ask("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, repo), nil)
	var s struct{ SessionID string }
	if err == nil {
		err = json.Unmarshal(began, &s)
	}
	if err != nil {
		return err
	}
	st, err := store.Open(ctx, filepath.Join(b.data(), "cco.db"))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	return b.turns(ctx, e, s.SessionID, st)
}

func (b *bench) turns(ctx context.Context, e *anEditor, id string, st *store.Store) error {
	var late, took []time.Duration
	said := func(text string) {
		if m := saidAt.FindStringSubmatch(text); m != nil {
			micros, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
			late = append(late, time.Since(time.UnixMicro(micros)))
		}
	}
	for i := range 15 {
		script := fmt.Sprintf("## Task 1: Do it\n```sh\nbash -c 'for i in {1..20}; do echo now $EPOCHREALTIME; sleep 0.02; "+
			"done'; echo %d > b.txt\n```\n", i)
		_, err := e.ask("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, id, script),
			said)
		now := time.Now()
		if err != nil {
			return err
		}
		rec, err := st.Session(ctx, id)
		if err != nil {
			return err
		}
		if rec.State != store.Pulled || len(late) < 20*(i+1) {
			return fmt.Errorf("turn %d: session %s is %s, and %d lines came", i, id, rec.State, len(late))
		}
		took = append(took, now.Sub(rec.Finished))
	}
	slices.Sort(late)
	b.rows = append(b.rows,
		row{"from an agent's word to its editor (p50, p90)", ms(late[len(late)/2]) + ", " + ms(late[len(late)*9/10]), "", "",
			"5 ms"},
		row{"a small turn's quarantine and take, until its editor has the answer", ms(median(took)), "", "", "150 ms"})
	return nil
}
