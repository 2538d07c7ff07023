package cruising_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/must"
)

func TestWrongUseIsToldApartFromWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	task := filepath.Join(r.Home, "empty.md")
	must.Do(t, os.WriteFile(task, []byte(" \n"), 0o600))
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{0, "", "Usage"},
		{2, "nonsense", "nonsense"},
		{2, "start", "what is to be done"},
		{2, "start x --file y", "not both"},
		{2, "start --file " + task, "is empty"},
		{1, "start --file /no/such/file", "no such file"},
		{2, "start x --phase cooking", "no phase"},
		{2, "start x --phase building --through planning", "comes before"},
		{2, "start x --through cooking", "no phase"},
		{2, "start x --draft --merge", "--ready marks it as ready"},
		{2, "start x --planner nobody", "nobody"},
		{2, "start x --reviewer nobody", "nobody"},
		{2, "start x --max-rounds 0", "more than zero"},
		{2, "start x --max-cost -1", "more than zero"},
		{2, "start x --timeout 0s", "more than zero"},
		{2, "start x --domains ,", "domain"},
		{2, "start x --branch Not_Kebab", "kebab"},
		{2, "start x --branch --force", "kebab"},
		{3, "start x --planner script", "box create"},
		{3, "status 00000000", "no phase 00000000"},
		{3, "status", "of branch main"},
		{3, "fix 00000000", "no phase"},
		{2, "fix 00000000 --comment x --accept y", "not both"},
		{2, "fix 00000000 --comment=", "empty"},
		{3, "fix 00000000 --accept y", "no phase"},
		{3, "pause 00000000", "no phase"},
		{3, "resume 00000000", "no phase"},
		{2, "resume 00000000 --all", "one of"},
		{2, "resume --all --from x", "one of"},
		{2, "resume --all --over ann", "one phase"},
		{3, "resume --from " + r.Home, "no phase"},
		{3, "cleanup 00000000", "no phase"},
		{3, "logs 00000000", "no phase"},
		{2, "status 1 2", "argument"},
		{2, "serve --webhook 127.0.0.1:0", "CCO_WEBHOOK_SECRET"},
	} {
		words := ""
		args := append([]string{"cruise"}, strings.Fields(c.args)...)
		if c.code == 0 {
			words = r.CCO(args...)
		} else {
			words = r.Fails(c.code, args...)
		}
		if !strings.Contains(words, c.want) {
			t.Errorf("cco cruise %s says %q, and nothing of %q", c.args, words, c.want)
		}
	}
	if r.EnginePid() != 0 {
		t.Error("an engine was started for nothing")
	}
	if out := r.CCO("cruise", "list", "--json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("list: %s", out)
	}
}

func TestAPhaseIsListedShownPausedAndFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security", "--branch", "my-flag")
	s := r.Await(id, "watching", watching)
	if s.Branch != "my-flag" {
		t.Errorf("%+v", s)
	}
	if again := r.Fails(4, "cruise", "start", "another", "--planner", "script", "--branch",
		"my-flag"); !strings.Contains(again, id) {
		t.Errorf("a second phase on its branch: %q", again)
	}
	r.Fails(2, "cruise", "start", "another", "--planner", "script", "--branch", "main")
	for _, args := range [][]string{{"list"}, {"status"}, {"status", id}, {"logs", id}, {"logs"}} {
		out := r.CCO(append([]string{"cruise"}, args...)...)
		if args[0] != "logs" && !strings.Contains(out, id) || args[0] == "logs" &&
			!strings.Contains(out, "planning: watching") {
			t.Errorf("%v: %s", args, out)
		}
	}
	for range 2 { // twice is the same as once
		r.CCO("cruise", "pause")
	}
	r.Await(id, "paused", func(s cruisetest.Status) bool { return s.Paused })
	if out := r.CCO("cruise", "status"); !strings.Contains(out, "paused: go on with") {
		t.Errorf("status: %s", out)
	}
	// ends, because nothing happens by itself
	if out := r.CCO("cruise", "logs", "-f", id); !strings.Contains(out, "paused") {
		t.Errorf("logs: %s", out)
	}
	r.Say(cruisetest.Token, s.PR, "looks fine\n[REVIEW COMPLETE]\n")
	r.CCO("cruise", "resume", "--all")
	r.Await(id, "going on", func(s cruisetest.Status) bool { return !s.Paused })
	if out := r.CCO("cruise", "status", "--watch", "--json", id); !strings.Contains(out, `"end":"review complete"`) {
		t.Errorf("watched: %s", out)
	}
	if out := r.CCO("cruise", "list", "--json"); !strings.Contains(out, `"ended": true`) {
		t.Errorf("list: %s", out)
	}
}

func TestSlashCommandsAreInstalledAndNeverOverwritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(r.Home, ".claude", "commands")
	if out := r.CCO("cruise", "commands", "install"); strings.Count(out, "\n") != 3 {
		t.Errorf("installed: %s", out)
	}
	for _, name := range []string{"cruise-fix.md", "cruise-cleanup.md", "cruise-resume.md"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(data), "cco cruise") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out := r.CCO("cruise", "commands", "install"); out != "" {
		t.Errorf("installed again: %s", out)
	}
	mine := filepath.Join(dir, "cruise-fix.md")
	must.Do(t, os.WriteFile(mine, []byte("mine\n"), 0o600))
	r.Fails(4, "cruise", "commands", "install")
	if data, _ := os.ReadFile(mine); string(data) != "mine\n" {
		t.Errorf("it was overwritten: %s", data)
	}
	r.CCO("cruise", "commands", "install", "--force")
	if data, _ := os.ReadFile(mine); string(data) == "mine\n" {
		t.Error("--force did nothing")
	}
	r.CCO("cruise", "commands", "install", filepath.Join(r.Home, "elsewhere"))
}

// Guards against commands that a shell can't complete because they are another program's.
func TestCompletionAsksTheProgramThatKnows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for words, want := range map[string]string{
		"cruise ":          "start\tBegin a phase",
		"cruise st":        "status\tShow where a phase stands",
		"cruise start --m": "--max-rounds\tend after so many rounds",
		"-q cruise ":       "cleanup\t",
	} {
		out := r.CCO(append([]string{"__complete"}, strings.Split(words, " ")...)...)
		if !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("cco %s<TAB> offers\n%s", words, out)
		}
	}
}
