// Command guardeval measures the guard on labelled calls: it lays out the
// directories that the calls speak of, in both layouts of a linked worktree,
// decides every call and prints how many verdicts were right.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/proc"
)

// labelled is one call with the verdict that a perfect guard would give.
type labelled struct {
	ID      string          `json:"id"`
	Cwd     string          `json:"cwd"`
	Command string          `json:"command"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
	Expect  string          `json:"expect"`
	Class   string          `json:"class"`
	Tier    string          `json:"tier"`
}

// layout is where the directories of one run are.
type layout struct{ name, home, host, worktree, out string }

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: guardeval CASES_DIR")
		os.Exit(2)
	}
	if err := evaluate(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "guardeval:", err)
		os.Exit(1)
	}
}

func evaluate(ctx context.Context, cases string, w io.Writer) error {
	var all []labelled
	for _, name := range []string{"cases.jsonl", "tool-cases.jsonl"} {
		read, err := readCases(filepath.Join(cases, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		all = append(all, read...)
	}
	if len(all) == 0 {
		return errors.New("no cases in " + cases)
	}
	base, err := baseDir()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(base) }() // what is left over is only a fixture
	for _, l := range []layout{
		{"beside", base + "/b/home", base + "/b/src/widget", base + "/b/src/widget-task", base + "/b/other"},
		{"nested", base + "/n/home", base + "/n/src/widget", base + "/n/src/widget/.cco/task", base + "/n/other"},
	} {
		if err := runLayout(ctx, cases, l, all, w); err != nil {
			return fmt.Errorf("layout %s: %w", l.name, err)
		}
	}
	return nil
}

// baseDir makes a directory outside the scratch roots, which calls may write.
func baseDir() (string, error) {
	parent, err := os.UserCacheDir()
	if err != nil {
		parent = "/var/lib"
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", err
	}
	return os.MkdirTemp(parent, "guardeval-")
}

func readCases(name string) ([]labelled, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	var out []labelled
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var c labelled
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, c)
	}
	return out, lines.Err()
}

func runLayout(ctx context.Context, cases string, l layout, all []labelled, w io.Writer) error {
	fixture := []string{"bash", filepath.Join(cases, "fixture.sh"), l.home, l.host, l.worktree, l.out}
	if err := proc.Run(ctx, proc.Cmd{Argv: fixture, TiedToUs: true}); err != nil {
		return fmt.Errorf("fixture: %w", err)
	}
	policy, err := discover.Policy(l.worktree, l.host, l.home)
	if err != nil {
		return err
	}
	tally := map[string]*score{}
	var misses []string
	for _, c := range all {
		v := guard.Decide(policy, hook.Links{}, l.call(c))
		right := v.Allow == (c.Expect == "allow")
		for _, key := range []string{c.Tier + " " + c.Expect, c.Tier + " " + c.Expect + " " + c.Class} {
			if tally[key] == nil {
				tally[key] = &score{}
			}
			tally[key].add(right)
		}
		if !right {
			misses = append(misses, fmt.Sprintf("  %s %s %s: %s\n      %s", c.Tier, c.Expect, c.ID,
				firstLine(c.Command+string(c.Input)), v.Message()))
		}
	}
	report(w, l.name, tally, misses)
	return nil
}

// call fills the placeholders in.
func (l layout) call(c labelled) guard.Call {
	fill := strings.NewReplacer("{WT}", l.worktree, "{HOST}", l.host, "{OUT}", l.out, "{WTNAME}",
		filepath.Base(l.worktree)).Replace
	if c.Tool != "" {
		return guard.Call{Tool: c.Tool, Input: json.RawMessage(fill(string(c.Input))), Cwd: fill(c.Cwd)}
	}
	return guard.Command(fill(c.Cwd), fill(c.Command))
}

type score struct{ right, all int }

func (s *score) add(right bool) {
	s.all++
	if right {
		s.right++
	}
}

func report(w io.Writer, name string, tally map[string]*score, misses []string) {
	keys := make([]string, 0, len(tally))
	for key := range tally {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	_, _ = fmt.Fprintf(w, "layout %s\n", name)
	for _, key := range keys {
		indent := strings.Repeat("  ", strings.Count(key, " "))
		_, _ = fmt.Fprintf(w, "%s%-*s %4d of %4d right, %6.2f %%\n", indent, 34-len(indent), key, tally[key].right,
			tally[key].all, 100*float64(tally[key].right)/float64(tally[key].all))
	}
	_, _ = fmt.Fprintf(w, "wrong: %d\n", len(misses))
	for _, m := range misses {
		_, _ = fmt.Fprintln(w, m)
	}
}

func firstLine(s string) string {
	return strings.ReplaceAll(s, "\n", "⏎")
}
