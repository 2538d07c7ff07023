package guard_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard"
)

// FuzzDecide looks for commands on which the guard fails or that it allows
// though they don't parse.
func FuzzDecide(f *testing.F) {
	for _, seed := range []string{
		"ls", "cd .. && x", `echo "${x:-'$(y)'}"`, "cat <<EOF\n$(x)\nEOF", "a[0]=1 b", "((a) )", "x=$\\\n(y)",
		"f() { f; }; f",
		"git -c a.b=c -C d e", "find . -exec a {} +", "xargs -I{} b", "python3 -c 'open(\"x\",\"w\")'", "sed 's/a/b/w c' d",
		"awk '{print > \"x\"}'",
		"tar xf a -C b", "for i in {1..9}; do $i; done", "case $x in a) b;; esac", "echo ${!x} ${x@P} ${x//a/b} ${x:1:2}",
		"trap 'a' EXIT", "[[ -v a[$(b)] ]]", "git -c alias x", "git -c url=a x",
	} {
		f.Add(seed)
	}
	p := guard.Policy{Workspace: "/w/task", Host: "/w/host", Home: "/h", Branch: "b",
		GitDir: "/w/host/.git/worktrees/task", Scratch: []string{"/tmp"}}
	f.Fuzz(func(t *testing.T, command string) {
		call := guard.Command("/w/task", command)
		var sent struct{ Command string } // what JSON made of it
		if err := json.Unmarshal(call.Input, &sent); err != nil {
			t.Fatal(err)
		}
		var v guard.Verdict
		took := time.Hour
		for try := 0; try < 3 && took > 10*time.Second; try++ { // the machine may have been busy with something else
			start := time.Now()
			v = guard.Decide(p, nil, call)
			took = time.Since(start)
		}
		if took > 10*time.Second {
			t.Fatalf("took %s on %q", took, command)
		}
		if v.Rule == guard.RuleInternal {
			t.Fatalf("the guard failed on %q", command)
		}
		if !v.Allow {
			if v.Rule == guard.RuleNone || v.Reason == "" || v.End > len(sent.Command) || v.Start > v.End {
				t.Fatalf("a denial without a reason or a place: %+v", v)
			}
			return
		}
		if _, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(sent.Command),
			""); err != nil && !strings.Contains(command, "\\\n") {
			t.Fatalf("allowed, and does not parse: %q: %v", command, err)
		}
	})
}

// FuzzTool looks for tool inputs on which the guard fails.
func FuzzTool(f *testing.F) {
	f.Add("Write", `{"file_path":"x"}`)
	f.Add("Bash", `{"command":["a","b"]}`)
	f.Add("apply_patch", `"*** Begin Patch\n*** Add File: x\n"`)
	f.Add("MultiEdit", `{"file_path":"x","edits":[{"file_path":7}]}`)
	p := guard.Policy{Workspace: "/w/task", Scratch: []string{"/tmp"}}
	f.Fuzz(func(t *testing.T, tool, input string) {
		v := guard.Decide(p, nil, guard.Call{Tool: tool, Input: json.RawMessage(input), Cwd: "/w/task"})
		if v.Rule == guard.RuleInternal {
			t.Fatalf("the guard failed on %s %q", tool, input)
		}
		if tool == "Bash" && v.Allow && !json.Valid([]byte(input)) {
			t.Fatalf("allowed, and is no JSON: %q", input)
		}
	})
}
