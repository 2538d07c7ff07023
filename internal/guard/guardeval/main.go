// Command guardeval measures the guard on labelled calls: it lays out the
// directories that the calls speak of, in both layouts of a linked worktree,
// decides every call and prints how many verdicts were right.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	parent, err := os.UserCacheDir() // scratch roots, which calls may write, would not do
	if err != nil {
		return err
	}
	base, err := os.MkdirTemp(parent, "guardeval-")
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

func readCases(name string) (list []labelled, err error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var c labelled
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, c)
	}
}

// runLayout decides every call and prints the shares of right verdicts, and the wrong ones.
func runLayout(ctx context.Context, cases string, l layout, all []labelled, w io.Writer) error {
	fixture := []string{"bash", filepath.Join(cases, "fixture.sh"), l.home, l.host, l.worktree, l.out}
	if err := proc.Run(ctx, proc.Cmd{Argv: fixture, TiedToUs: true}); err != nil {
		return fmt.Errorf("fixture: %w", err)
	}
	policy, err := discover.Policy(l.worktree, l.host, l.home)
	if err != nil {
		return err
	}
	right, asked := map[string]int{}, map[string]int{}
	var misses []string
	for _, c := range all {
		v := guard.Decide(policy, hook.Links{}, l.call(c))
		for _, key := range []string{c.Tier + " " + c.Expect, c.Tier + " " + c.Expect + " " + c.Class} {
			asked[key]++
			if v.Allow == (c.Expect == "allow") {
				right[key]++
			}
		}
		if v.Allow != (c.Expect == "allow") {
			misses = append(misses, fmt.Sprintf("  %s %s %s: %s\n      %s", c.Tier, c.Expect, c.ID,
				strings.ReplaceAll(c.Command+string(c.Input), "\n", "⏎"), v.Message()))
		}
	}
	_, _ = fmt.Fprintf(w, "layout %s\n", l.name)
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		_, _ = fmt.Fprintf(w, "  %-34s %4d of %4d right, %6.2f %%\n", key, right[key], asked[key],
			100*float64(right[key])/float64(asked[key]))
	}
	_, _ = fmt.Fprintf(w, "wrong: %d\n%s\n", len(misses), strings.Join(misses, "\n"))
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
