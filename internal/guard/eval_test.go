//go:build eval

package guard_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// casesDir is given by make guard-eval.
var casesDir = flag.String("cases", "", "a directory with labelled calls, to be measured")

// TestLabelledCalls measures the guard on calls that are not in the repository: it lays out the directories that they
// speak of, in both layouts of a linked worktree, decides every call and prints how many verdicts were right.
func TestLabelledCalls(t *testing.T) {
	var all []labelledCall
	for _, name := range []string{"cases.jsonl", "tool-cases.jsonl"} {
		data, err := os.ReadFile(filepath.Join(*casesDir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var c labelledCall
			must.Do(t, d.Decode(&c))
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		t.Fatal("no cases in " + *casesDir)
	}
	parent := must.Get(os.UserCacheDir())(t)
	base := must.Get(os.MkdirTemp(parent, "guard-eval-"))(t) //nolint:usetesting // calls may write in scratch roots
	t.Cleanup(func() { must.Do(t, os.RemoveAll(base)) })
	for _, name := range slices.Sorted(maps.Keys(layouts())) {
		b := filepath.Join(base, name)
		s := site{home: b + "/home", host: b + "/src/widget", worktree: b + "/src/widget-task", out: b + "/other"}
		if layouts()[name] {
			s.worktree = s.host + "/.cco/task"
		}
		fixture := []string{"bash", filepath.Join(*casesDir, "fixture.sh"), s.home, s.host, s.worktree, s.out}
		must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: fixture, TiedToUs: true}))
		s.policy = must.Get(discover.Policy(s.worktree, s.host, s.home))(t)
		t.Log("layout " + name + "\n" + s.measure(all))
	}
}

// labelledCall is one call with the verdict that a perfect guard would give.
type labelledCall struct {
	ID      string          `json:"id"`
	Cwd     string          `json:"cwd"`
	Command string          `json:"command"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
	Expect  string          `json:"expect"`
	Class   string          `json:"class"`
	Tier    string          `json:"tier"`
}

// measure decides every call and tells the shares of right verdicts, and the wrong ones.
func (s site) measure(all []labelledCall) string {
	right, asked := map[string]int{}, map[string]int{}
	var misses []string
	fill := strings.NewReplacer("{WT}", s.worktree, "{HOST}", s.host, "{OUT}", s.out, "{WTNAME}",
		filepath.Base(s.worktree)).Replace
	for _, c := range all {
		call := guard.Command(fill(c.Cwd), fill(c.Command))
		if c.Tool != "" {
			call = guard.Call{Tool: c.Tool, Input: json.RawMessage(fill(string(c.Input))), Cwd: fill(c.Cwd)}
		}
		v := guard.Decide(s.policy, hook.Links{}, call)
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
	var out strings.Builder
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		fmt.Fprintf(&out, "  %-34s %4d of %4d right, %6.2f %%\n", key, right[key], asked[key],
			100*float64(right[key])/float64(asked[key]))
	}
	return out.String() + fmt.Sprintf("wrong: %d\n%s\n", len(misses), strings.Join(misses, "\n"))
}
