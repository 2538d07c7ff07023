package guard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
)

// Guards against the accident that started this package: an agent left its
// worktree and committed to the host's main branch.
func TestCdToHostIsDenied(t *testing.T) {
	s := newSite(t, false)
	v := s.decide("cd {HOST} && git commit -am x")
	if v.Allow || v.Rule != guard.RuleDirectory {
		t.Fatalf("got %+v", v)
	}
	if v.Part != s.host || v.Path != s.host {
		t.Errorf("part %q, path %q, want the host", v.Part, v.Path)
	}
	if !strings.Contains(v.Message(), "leaves the workspace") || !strings.Contains(v.Message(), "below "+s.worktree) {
		t.Errorf("message does not help to go on: %s", v.Message())
	}
}

func TestGitAtHostIsDenied(t *testing.T) {
	s := newSite(t, false)
	v := s.decide("git -C {HOST} commit -am x")
	if v.Allow || v.Rule != guard.RuleGit || v.Path != s.host {
		t.Fatalf("got %+v", v)
	}
}

func TestNormalCommandIsAllowed(t *testing.T) {
	s := newSite(t, true)
	if v := s.decide("go test ./... && git add -A && git commit -m 'add parser'"); !v.Allow {
		t.Fatal(v.Message())
	}
}

func TestGitDirOfHostIsDenied(t *testing.T) {
	s := newSite(t, false)
	for _, command := range []string{
		"GIT_DIR={HOST}/.git git commit -am x",
		"export GIT_DIR={HOST}/.git; git commit -am x",
		"env GIT_DIR={HOST}/.git GIT_WORK_TREE={HOST} git add -A",
		"git --git-dir={HOST}/.git commit -am x",
	} {
		if v := s.decide(command); v.Allow || v.Rule != guard.RuleGit {
			t.Errorf("%s: %+v", command, v)
		}
	}
	if v := s.decide("GIT_DIR={HOST}/.git/worktrees/{WTNAME} GIT_WORK_TREE={WT} git status"); !v.Allow {
		t.Errorf("its own git directory: %s", v.Message())
	}
}

func TestZeroVerdictDenies(t *testing.T) {
	var v guard.Verdict
	if v.Allow || v.Message() == "" {
		t.Fatalf("got %+v", v)
	}
}

func TestDenialPointsAtThePart(t *testing.T) {
	s := newSite(t, false)
	for command, part := range map[string]string{
		"ls && touch {OUT}/x && ls":                  "{OUT}/x",
		"echo hi > {HOST}/y":                         "{HOST}/y",
		"bash -c 'touch {OUT}/z'":                    "'touch {OUT}/z'",
		"ls \\⏎ && tou\\⏎ch {OUT}/x":                 "{OUT}/x",
		"for d in a b; do rm -rf ../$d; done":        "../$d",
		"echo ok; git -c core.pager='x {OUT}/y' log": "core.pager='x {OUT}/y'",
	} {
		v := s.decide(command)
		if v.Allow || v.Part != s.fill(part) {
			t.Errorf("%s: part %q, want %q", command, v.Part, s.fill(part))
			continue
		}
		if full := s.fill(command); full[v.Start:v.End] != v.Part {
			t.Errorf("%s: span %d to %d is %q", command, v.Start, v.End, full[v.Start:v.End])
		}
	}
}

func TestLinksAreFollowed(t *testing.T) {
	s := newSite(t, false)
	for command, allow := range map[string]bool{
		"echo x > link-in/y":             true,
		"cd link-in && go build":         true,
		"echo x > link-out/y":            false,
		"echo x > link-file":             false,
		"cd link-host && git status":     false,
		"touch deep/up/y":                false,
		"rm -rf link-out/":               false,
		"rm link-out":                    true, // the link itself is the workspace's
		"cat link-out/notes.txt":         true,
		"git fetch origin":               true,
		"cd src; cd ..; touch x":         true,
		"mkdir n; cd n; cd ..; touch x":  true,
		"cd -P link-in/../.. && touch x": false,
	} {
		if v := s.decide(command); v.Allow != allow {
			t.Errorf("%s: allow %v, want %v: %s", command, v.Allow, allow, v.Message())
		}
	}
}

func TestCallThatStartsOutside(t *testing.T) {
	s := newSite(t, false)
	for command, allow := range map[string]bool{
		"make":                           false,
		"git status":                     false,
		"ls":                             true,
		s.fill("cd {WT} && git status"):  true,
		s.fill("cd {WT}; go test ./..."): true,
	} {
		if v := guard.Decide(s.policy, hook.Links{}, guard.Command(s.host, command)); v.Allow != allow {
			t.Errorf("%s: allow %v, want %v: %s", command, v.Allow, allow, v.Message())
		}
	}
}

// Guards against commands that are small and costly.
func TestCostIsBounded(t *testing.T) {
	s := newSite(t, false)
	for name, command := range map[string]string{
		"nested loops":   strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 9) + "ls" + strings.Repeat("; done", 9),
		"doubling":       "x=aaaaaaaaaa; " + strings.Repeat("x=$x$x; ", 40) + "echo $x",
		"recursion":      "f() { f; f; }; f",
		"braces":         "echo " + strings.Repeat("{a,b}", 30),
		"shells":         strings.Repeat("bash -c \"", 1) + strings.Repeat("eval ", 5000) + "ls\"",
		"substitutions":  strings.Repeat("$(echo ", 200) + "x" + strings.Repeat(")", 200),
		"self alias":     "alias a='a; a'; a",
		"endless while":  "while true; do while true; do while true; do while true; do ls; done; done; done; done",
		"many branches":  strings.Repeat("if a; then x=$x1; else x=$x2; fi; ", 200) + "echo $x",
		"script of self": "echo 'bash s.sh; bash s.sh' > s.sh; bash s.sh",
		"deep quotes":    strings.Repeat("echo \"$(", 300) + strings.Repeat(")\"", 300),
	} {
		s.decide(command) // returning at all is what is tested
		_ = name
	}
	if v := s.decide(strings.Repeat("ls;", 60_000)); v.Allow || v.Rule != guard.RuleTooComplex {
		t.Errorf("more than is followed: %+v", v)
	}
}

func TestControlCharactersAreDenied(t *testing.T) {
	s := newSite(t, false)
	for _, command := range []string{"ls\x00", "ls\r", "ls \r\ncd .."} {
		if v := s.decide(command); v.Allow || v.Rule != guard.RuleSyntax {
			t.Errorf("%q: %+v", command, v)
		}
	}
}

func TestPolicyIsChecked(t *testing.T) {
	for _, p := range []guard.Policy{{}, {Workspace: "relative"}, {Workspace: "/"},
		{Workspace: "/w", Scratch: []string{"tmp"}}} {
		if v := guard.Decide(p, nil, guard.Command("/w", "ls")); v.Allow {
			t.Errorf("%+v allows", p)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{"workspace":"/w","worksapce":"/x"}`, `{"workspace":7}`,
		`{"host":"/h"}`} {
		if _, err := guard.ParsePolicy([]byte(bad)); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestPolicySurvivesJSON(t *testing.T) {
	s := newSite(t, false)
	s.policy.Protected, s.policy.Tools = []string{"/etc/cco"}, []string{"x"}
	s.policy.AuditSocket, s.policy.AuditLog = "/run/a.sock", "/data/guard.log"
	data, err := json.Marshal(s.policy)
	if err != nil {
		t.Fatal(err)
	}
	back, err := guard.ParsePolicy(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(again) != string(data) {
		t.Errorf("%s\nbecame\n%s (%v)", data, again, err)
	}
}

func TestProtectedPathsOfThePolicy(t *testing.T) {
	s := newSite(t, false)
	s.policy.Protected = []string{s.worktree + "/locked"}
	for command, allow := range map[string]bool{"echo x > locked/a": false, "rm -rf locked": false, "cat locked/a": true,
		"touch lockedx": true} {
		if v := s.decide(command); v.Allow != allow {
			t.Errorf("%s: allow %v, want %v: %s", command, v.Allow, allow, v.Message())
		}
	}
}

// An agent is told to put its questions into $CCO_EXCHANGE, of which the hook need not know.
func TestTheExchangeCanBeWritten(t *testing.T) {
	s := newSite(t, false)
	for _, command := range []string{`echo 'which one?' > "$CCO_EXCHANGE/question.txt"`, `echo x > $CCO_WORKSPACE/x.txt`} {
		if v := s.decide(command); !v.Allow {
			t.Errorf("%s: %s", command, v.Message())
		}
	}
}
