package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/term"
)

// answer is what cco says to a command line.
type answer struct {
	args string // its words; ␣ is a space within one
	code int
	says string // a regular expression of lines: on stderr if cco fails, otherwise on stdout
}

func (a answer) argv() []string {
	argv := strings.Fields(a.args)
	for i, arg := range argv {
		argv[i] = strings.ReplaceAll(arg, "␣", " ")
	}
	return argv
}

func (a answer) check(t *testing.T, code int, out, words string) {
	t.Helper()
	says := words
	if a.code == 0 {
		says = out
	}
	if code != a.code || !regexp.MustCompile("(?m)"+a.says).MatchString(says) {
		t.Errorf("cco %s: exit status %d, want %d and %q\nstdout: %s\nstderr: %s", a.args, code, a.code, a.says, out,
			words)
	}
}

const (
	noBox     = "sandbox not created, run `cco box create nothere`"
	noSession = `no session "00000000"`
	noID      = "is not a session id"
)

// TestUsage is about words that cco refuses, or answers, before it makes anything. They are tried in this process: no
// guard is beside it, so a cco that does not refuse them gets no box all the same, and without one no session begins.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "CCO_") {
			t.Setenv(name, "") // settings of the user who runs the tests
		}
	}
	for _, v := range userEnv(t, dir) {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	t.Chdir(dir)
	for _, a := range []answer{
		{"", 0, "cco box push"},
		{"box", 0, "Available Commands"},
		{"--version", 0, "^cco "},
		{"completion bash", 0, "bash completion"},
		{"box create --help", 0, "--template FILE"},

		{"nonsense", 2, `unknown command "nonsense"`},
		{"help box push", 0, "^Usage:"},
		{"help nonsense", 2, "unknown command \"nonsense\" for \"cco\", see `cco --help`$"},
		{"help atention", 2, "unknown command \"atention\" for \"cco\": did you mean `cco attention`\\? See"},
		{"help box psuh", 2, "unknown command \"psuh\" for \"cco box\": did you mean `cco box push`\\? See"},
		{"box say", 2, "what is said to which session"},
		{"box say 3f9c01aa", 2, "The text is missing, see `cco box say --help`$"},
		{"box nonsense", 2, `unknown command "nonsense"`},
		{"box list extra", 2, "too many arguments"},
		{"box push --no-such-flag", 2, "unknown flag: --no-such-flag"},
		{"box push", 2, "what is to be done"},
		{"box push plan.md -m both", 2, "not both"},
		{"box push - --agent script", 1, "nothing was written to standard input"},
		{"box create another --cpus 2", 2,
			"--cpus has no meaning for a native box, only for backend container and lima"},
		{"box create another --image x", 2, "--image has no meaning for a native box"},
		{"box create another --disk 10GiB --backend container", 2, "--disk has no meaning for a container box"},

		// Ids that could be paths are never looked for.
		{"box pull ..", 2, noID},
		{"box pull a/b", 2, noID},
		{"box pull ABCDEF01", 2, noID},
		{"box logs ../../etc", 2, noID},
		{"box pull 00000000", 3, noSession},
		{"box kill 00000000", 3, noSession},
		{"box diff 00000000", 3, noSession},
		{"box status nothere", 3, noBox},
		{"config get agent", 2, "no setting \"agent\", see `cco config list`: did you mean `agent.default` or `agent.model`"},
		{"config get limit.day_cost", 2, "did you mean `limits.day_cost`\\?$"},
		{"config set limit.day_cost", 2, "no setting \"limit.day_cost\".*did you mean `limits.day_cost`\\?$"},
		{"config set limit.day_cost 5", 2, "no setting \"limit.day_cost\".*did you mean `limits.day_cost`\\?$"},
		{"config set agent.default codx", 2, `agent.default: no "codx"; there are .*: did you mean .codex.\?$`},
		{"box push -m x --timeout 5", 2,
			"missing unit in duration \"5\": did you mean `5s` or `5m`\\? See `cco box push --help`"},
		{"run -m x --timeout five", 2, "invalid argument \"five\" for \"--timeout\" flag.*, see `cco run --help`"},
		{"run -m x --idle-timeout 5", 2, "--idle-timeout: \"5\" is not a duration; write it like"},
		// The usual box needs no name.
		{"box status", 3, "sandbox not created, run `cco box create`$"},
		{"box net list", 3, "sandbox not created, run `cco box create`$"},

		// Nothing was made.
		{"box list --json", 0, `^\[\]$`},
		{"box sessions --json", 0, `^\[\]$`},
	} {
		streams, out, words := term.Test("")
		code := cli.Run(t.Context(), streams, a.argv())
		a.check(t, code, out.String(), words.String())
	}
	if made := names(t, filepath.Join(dir, "data/cco/boxes")); len(made) > 0 {
		t.Errorf("boxes were made: %q", made)
	}
}

// TestErrors is about what can't travel, or can't be made: a clear error, before anything is made. It takes the real
// program: a push that is not refused would start its own program again, as a keeper.
func TestErrors(t *testing.T) {
	t.Parallel()
	d := newErrorDesk(t)
	t.Run("in", func(t *testing.T) {
		for in, answers := range map[string][]answer{
			"repo": {
				{"box push nosuch.md --agent script", 1, "plan file not found: nosuch.md$"},
				{"run nosuch.md --agent script", 1, "plan file not found: nosuch.md$"},
				{"run plam.md --agent script", 1, "plan file not found: plam.md: did you mean `plan.md`\\?$"},
				{"run Add␣a␣flag --agent script", 1, "plan file not found: Add a flag: did you mean `-m \"Add a flag\"`\\?$"},
				{"run plan.md --agent codx", 2, `no agent "codx"; there are .*: did you mean .codex.\?$`},
				{"box shell stoped", 3, "cco box create stoped`: did you mean `stopped`\\?$"},
				{"box push . --agent script", 1, "not a regular file"},
				{"box push plan.md --agent nonsense", 2, `no agent "nonsense"`},
				{"box push plan.md --agent script --model gpt", 2, "the agent script uses no model"},
				{"box push plan.md --box other", 3, "sandbox not created, run `cco box create other`"},
				{"box push plan.md --agent script --box stopped", 4, "sandbox not running, run `cco box start stopped`"},
			},
			"empty":    {{"box push -m hi --agent script", 4, "has no commits yet"}},
			"detached": {{"box push plan.md --agent script", 4, "HEAD is detached"}},
			"bare.git": {{"box push -m hi --agent script", 4, "bare repository"}},
			"nowhere": {
				{"box push -m hi --agent script", 4, "not a git repository"},
				{"box create Bad␣Name", 2, "can.t name a box"},
				{"box create ../x", 2, "can.t name a box"},
				{"box create another --backend nonsense", 2, `no backend "nonsense"`},

				// No command takes a box that is not there for anything else, and each says how to make it.
				{"box start nothere", 3, noBox},
				{"box stop nothere", 3, noBox},
				{"box status nothere", 3, noBox},
				{"box destroy nothere", 3, noBox},
				{"box provision nothere", 3, noBox},
				{"box shell nothere -- true", 3, noBox},
				{"box verify nothere", 3, noBox},
				{"box net list --box nothere", 3, noBox},
				{"box sessions --box nothere", 3, noBox},
			},
		} {
			for _, a := range answers {
				t.Run(in+": "+a.args, func(t *testing.T) {
					t.Parallel()
					d.ask(t, in, a)
				})
			}
		}
	})
	d.ask(t, "repo", answer{"box sessions --json", 0, `^\[\]$`})
	d.ask(t, "repo", answer{"box status", 0, "running"})
	data := filepath.Join(d.dir, "data/cco")
	if sent := must.Get(os.ReadDir(filepath.Join(data, "exchange")))(t); len(sent) > 0 {
		t.Errorf("something was sent: %q", sent)
	}
	if boxes := names(t, filepath.Join(data, "boxes")); !slices.Equal(boxes, []string{"cco-sandbox", "stopped"}) {
		t.Errorf("the boxes are %q", boxes)
	}
}

// errorDesk is a user with repositories from which work can't travel, a box that runs and one that is stopped.
type errorDesk struct {
	dir, bin string
	env      []string
}

func newErrorDesk(t *testing.T) *errorDesk {
	t.Helper()
	d := &errorDesk{dir: t.TempDir(), bin: build(t)}
	must.Do(t, os.Chmod(d.dir, 0o755)) // boxes show it to a user of their own
	d.env = append(userEnv(t, d.dir), "PATH="+d.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, in := range []string{"repo", "nowhere"} {
		must.Do(t, os.Mkdir(filepath.Join(d.dir, in), 0o755))
	}
	plan := "## Task 1: x\n\n```sh\ntrue\n```\n"
	must.Do(t, os.WriteFile(filepath.Join(d.dir, "repo/plan.md"), []byte(plan), 0o644))
	for _, args := range []string{
		"init -q repo", "-C repo add .", "-C repo commit -qm start", "clone -q repo detached",
		"-C detached checkout -q --detach", "init -q empty", "init -q --bare bare.git",
	} {
		must.Do(t, proc.Run(t.Context(), proc.Cmd{
			Argv: append([]string{"git"}, strings.Fields(args)...), Dir: d.dir, Env: d.env,
		}))
	}
	for _, args := range []string{"box create", "box create stopped", "box stop stopped"} {
		d.ask(t, "repo", answer{args: args})
	}
	t.Cleanup(func() { // nothing stays running if a push was not refused
		for _, id := range names(t, filepath.Join(d.dir, "data/cco/sessions")) {
			argv := []string{filepath.Join(d.bin, "cco"), "box", "kill", id}
			_ = proc.Run(context.WithoutCancel(t.Context()), proc.Cmd{Argv: argv, Dir: d.dir, Env: d.env})
		}
	})
	return d
}

// ask runs cco in a directory.
func (d *errorDesk) ask(t *testing.T, in string, a answer) {
	t.Helper()
	var out, words bytes.Buffer
	err := proc.Run(t.Context(), proc.Cmd{
		Argv: append([]string{filepath.Join(d.bin, "cco")}, a.argv()...), Dir: filepath.Join(d.dir, in), Env: d.env,
		Stdout: &out, Stderr: &words,
	})
	code := 0
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		code, err = exit.Code, nil
	}
	must.Do(t, err)
	a.check(t, code, out.String(), words.String())
}

// userEnv makes a user's home in a directory, and says where it is.
func userEnv(t *testing.T, dir string) []string {
	t.Helper()
	home := filepath.Join(dir, "home")
	must.Do(t, os.Mkdir(home, 0o755))
	gitconfig := "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
	must.Do(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(gitconfig), 0o644))
	return []string{"HOME=" + home, "XDG_DATA_HOME=" + filepath.Join(dir, "data"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"), "NO_COLOR=1"}
}

// names lists a directory, which need not be there.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		must.Do(t, err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}
