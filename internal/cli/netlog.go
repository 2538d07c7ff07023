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
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/unit"
)

func netLogCommand(a *commands) *cobra.Command {
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "log [SESSION]", Short: "Show what left boxes, and what was refused", Args: AtMost(1),
		Long: `Show what left a session's box and what was refused, a line for each connection or
request, with the rule that let it out or the reason for the refusal. Without a
session it is all of them, and what shells and setup commands did.`,
		Example: "  cco box net log 3f9c01aa\n  cco box net log --follow",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &netReader{app: a, asJSON: asJSON, read: map[string]int64{}}
			if len(args) > 0 {
				s, done, err := a.Sessions(cmd.Context())
				if err != nil {
					return err
				}
				defer done()
				id, err := s.Resolve(cmd.Context(), args[0])
				if err == nil {
					_, err = s.Get(cmd.Context(), id)
				}
				if err != nil {
					return err
				}
				r.only = s.NetFile(id)
			}
			if err := r.show(); err != nil || !follow {
				return err
			}
			return r.follow(cmd.Context())
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what leaves from now on")
	c.Flags().BoolVar(&asJSON, "json", false, "print the entries as JSON lines")
	c.ValidArgsFunction = completeFirst(a.sessionIDs)
	return c
}

// netReader reads record files, each from where it stopped the last time.
type netReader struct {
	app    *commands
	only   string // the one file to read
	asJSON bool
	read   map[string]int64
}

func (r *netReader) files() ([]string, error) {
	if r.only != "" {
		return door.LogFiles(r.only), nil
	}
	var files []string
	for _, dir := range []string{"sessions", "boxes"} {
		for _, name := range door.LogFiles(door.LogFile) {
			found, err := filepath.Glob(filepath.Join(r.app.Dirs.Data, dir, "*", name))
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
		more, err := r.readNew(f)
		if err != nil {
			return err
		}
		lines = append(lines, more...)
	}
	slices.SortStableFunc(lines, func(a, b netLine) int { return a.entry.Time.Compare(b.entry.Time) })
	for _, l := range lines {
		if r.asJSON {
			if err := r.app.IO.JSONLine(json.RawMessage(l.raw)); err != nil {
				return err
			}
			continue
		}
		r.app.netEntry(l.entry)
	}
	return nil
}

// readNew reads the complete lines that were added to a file.
func (r *netReader) readNew(name string) (lines []netLine, err error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err == nil && st.Size() < r.read[name] {
		r.read[name] = 0 // it was replaced
	}
	if _, err := f.Seek(r.read[name], io.SeekStart); err != nil {
		return nil, err
	}
	in := bufio.NewReader(io.LimitReader(f, 4*door.MaxLog))
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return lines, nil // an unfinished line is read the next time
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

// netEntry prints one line for people. The names in it come from the box.
func (a *commands) netEntry(e broker.Entry) {
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
		more = append(more, unit.Count(e.Spend.Tokens(), "token"))
		if e.Spend.Cost > 0 {
			more = append(more, dollarWords(e.Spend.Cost, e.Estimate))
		}
	}
	if e.Count > 1 && e.Decision != broker.Lost {
		more = append(more, fmt.Sprintf("%d times", e.Count))
	}
	more = append(more, fmt.Sprintf("%s out, %d in, %d ms", unit.Count(e.In, "byte"), e.Out, e.Millis))
	a.IO.Printf("%s  %s  %s  %s  %s\n", a.IO.Paint(term.Dim, e.Time.Local().Format("2006-01-02 15:04:05")),
		safetext.Text(e.Session),
		a.IO.Paint(colour, string(e.Decision)), safetext.Text(what), safetext.Text(strings.Join(more, "; ")))
}
