package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/term"
)

// netFile is the record of what left: a session's in its directory, that of shells and setup commands in their box's.
const netFile = "net.jsonl"

// maxNetLog bounds the record of a box's shells. What is in it before that is kept once.
const maxNetLog = 8 << 20

// netLog writes entries, a line of JSON each.
type netLog struct {
	path string
	mu   sync.Mutex
}

func (l *netLog) add(e broker.Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := os.Stat(l.path); err == nil && st.Size() > maxNetLog {
		_ = os.Rename(l.path, l.path+".1")
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}

func netLogCommand(a *app) *cobra.Command {
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "log [SESSION]", Short: "Show what left boxes, and what was refused", Args: atMost(1),
		Long: `Show what left a session's box and what was refused, a line for each connection or
request, with the rule that let it out or the reason for the refusal. Without a
session it is all of them, and what shells and setup commands did.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &netReader{app: a, asJSON: asJSON, read: map[string]int64{}}
			if len(args) > 0 {
				s, done, err := a.sessions(cmd.Context())
				if err != nil {
					return err
				}
				defer done()
				rec, err := s.Get(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				r.only = s.NetFile(rec.ID)
			}
			if err := r.show(); err != nil || !follow {
				return err
			}
			return r.follow(cmd.Context())
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what leaves from now on")
	c.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON lines")
	c.ValidArgsFunction = a.completeSession
	return c
}

// netReader reads records, each from where it stopped the last time.
type netReader struct {
	app    *app
	only   string // the one file to read
	asJSON bool
	read   map[string]int64
}

func (r *netReader) files() ([]string, error) {
	if r.only != "" {
		return []string{r.only + ".1", r.only}, nil
	}
	var files []string
	for _, dir := range []string{"sessions", "boxes"} {
		for _, name := range []string{netFile + ".1", netFile} {
			found, err := filepath.Glob(filepath.Join(r.app.dirs.Data, dir, "*", name))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func (r *netReader) follow(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(followEvery):
		}
		if err := r.show(); err != nil {
			return err
		}
	}
}

type netLine struct {
	entry broker.Entry
	raw   []byte
}

// show prints what is new, in the order in which it began.
func (r *netReader) show() error {
	files, err := r.files()
	if err != nil {
		return err
	}
	var lines []netLine
	for _, f := range files {
		more, err := r.take(f)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	slices.SortStableFunc(lines, func(a, b netLine) int { return a.entry.Time.Compare(b.entry.Time) })
	for _, l := range lines {
		if r.asJSON {
			r.app.io.Printf("%s\n", l.raw)
			continue
		}
		r.app.netEntry(l.entry)
	}
	return nil
}

// take reads the whole lines that a file has more than before.
func (r *netReader) take(name string) (lines []netLine, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil && st.Size() < r.read[name] {
		r.read[name] = 0 // a new one in its place
	}
	if _, err := f.Seek(r.read[name], io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(f, 4*maxNetLog))
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil // what is being written is read the next time
		}
		if err != nil {
			return nil, err
		}
		r.read[name] += int64(len(line))
		var e broker.Entry
		if json.Unmarshal(line, &e) == nil {
			lines = append(lines, netLine{e, bytes.TrimSpace(line)})
		}
	}
}

// netEntry prints one line for people. What it names the box has said.
func (a *app) netEntry(e broker.Entry) {
	colour := term.Green
	if e.Decision != broker.Allowed {
		colour = term.Red
	}
	what := e.Host
	if e.Port != 0 {
		what = fmt.Sprintf("%s:%d", e.Host, e.Port)
	}
	if e.Kind == "model" {
		what = strings.TrimSpace(what + " " + e.Path)
	}
	var more []string
	for _, s := range []string{e.Model, e.Reason, e.Error} {
		if s != "" {
			more = append(more, s)
		}
	}
	if e.Rule != "" && e.Rule != e.Host {
		more = append(more, "by "+e.Rule)
	}
	if e.Spend != nil {
		more = append(more, fmt.Sprintf("%d tokens", e.Spend.Tokens()))
		if e.Spend.Cost > 0 {
			more = append(more, dollarWords(e.Spend.Cost, e.Estimate))
		}
	}
	more = append(more, fmt.Sprintf("%d bytes out, %d in, %d ms", e.In, e.Out, e.Millis))
	a.io.Printf("%s  %s  %s  %s  %s\n", a.io.Paint(term.Dim, e.Time.Local().Format("2006-01-02 15:04:05")),
		term.Clean(e.Session),
		a.io.Paint(colour, string(e.Decision)), term.Clean(what), term.Clean(strings.Join(more, "; ")))
}
