//go:build heavy

package real

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Every line of docs/first-hour.md is typed on a real terminal, with the real claude from the real npm, and a real
// Gitea. The model follows a script, and the keyring is a stand-in.
func TestTheFirstHourOnATerminal(t *testing.T) {
	s := newStage(t)
	site := onGitea(t)
	key := newKey("sk-ant-")
	model := agenttest.Play(t, firstHour)
	s.env = append(s.env, "ANTHROPIC_BASE_URL="+model.URL, "GITEA_SERVER_URL="+site.url, "GITEA_TOKEN="+site.tokens["ada"],
		"TERM=xterm-256color", "PS1=<\\#:$?> ", "PS2=", "ROOT="+must.Get(filepath.Abs("../../.."))(t))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS", "GOPROXY"} {
		value := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"go", "env", name}}))(t)
		s.env = append(s.env, name+"="+strings.TrimSpace(string(value)))
	}
	home := filepath.Join(s.dir, "home")
	keyring := "#!/bin/sh\ncase $1 in store) cat >\"$HOME/kept\";; lookup) cat \"$HOME/kept\" 2>/dev/null;; esac\n"
	s.check(os.WriteFile(filepath.Join(s.bin, "secret-tool"), []byte(keyring), 0o755))
	g := gittest.Init(t, filepath.Join(home, "demo"), "-b", "main")
	g.Git("config", "user.name", "Ada")
	g.Git("config", "user.email", "ada@example.org")
	g.Git("config", "credential.helper", "!f() { echo username=ada; echo password="+site.tokens["ada"]+"; }; f")
	g.Git("remote", "add", "origin", site.url+"/ada/"+repoName+".git")
	g.Commit("start", "README.md", "demo\n")
	g.Git("push", "-q", "--force", "origin", "HEAD:refs/heads/main")

	d := newDesk(s)
	d.types(`cd "$ROOT"`)
	rest := ""
	for line := range strings.Lines(cruisetest.Lines(t, "../../../docs/first-hour.md")) {
		line = strings.TrimSuffix(line, "\n")
		if rest == "" && strings.Contains(line, "<<'END'") {
			rest = "END"
		}
		if rest != "" && line != rest {
			d.sends(line)
			continue
		}
		rest = ""
		if strings.HasPrefix(line, "cco keys set") {
			d.sends(line)
			d.await("a question for the key", func(screen string) bool {
				return strings.HasSuffix(screen, "Key for anthropic:")
			})
			line = key
		}
		d.types(line)
		if strings.Contains(d.screen(), key) {
			t.Fatal("the key is on the screen")
		}
	}
	if got := g.Git("show", "HEAD:greet.sh"); got != `echo hello "$1"` {
		t.Errorf("greet.sh is %q\n%s", got, d.screen())
	}
	for _, r := range model.Requests() {
		if r.Turn && r.Key() != key {
			t.Errorf("the model was asked with %q", r.Key())
		}
	}
}

// firstHour is how the model plays all parts.
func firstHour(r agenttest.Request) (agenttest.Step, bool) {
	text := r.Text()
	build := func(content, message string) agenttest.Step {
		if r.Step > 0 {
			return agenttest.Say("It is done.")
		}
		return agenttest.Shell("echo '" + content + "' > greet.sh && git add greet.sh && git commit -q -m '" + message + "'")
	}
	switch {
	case strings.Contains(text, "Name the following task for a pull request"):
		return agenttest.Say(`{"pr_title": "Greet a name", "branch_name": "greet-a-name"}`), true
	case !r.Turn:
		return agenttest.Step{}, false
	case strings.Contains(text, "Review the work on this branch since"):
		return agenttest.Say(`{"verdict": "APPROVED", "findings": []}`), true
	case strings.Contains(text, "greet a name that it is given"):
		return build(`echo hello "$1"`, "Greet a name"), true
	}
	return build("echo hello", "Write a greeting"), true
}

// desk is a shell in tmux whose prompt tells how many commands have ended, and how the last one did.
type desk struct {
	*stage
	sock string
	seen string // the number in the last prompt
}

func newDesk(s *stage) *desk {
	s.t.Helper()
	d := &desk{stage: s, sock: filepath.Join(s.dir, "tmux")}
	d.tmux("new-session", "-d", "-x", "180", "-y", "50", "bash", "--noprofile", "--norc")
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("the screen:\n%s", d.screen())
		}
		d.tmux("kill-server")
	})
	d.prompted()
	return d
}

func (d *desk) tmux(args ...string) string {
	d.t.Helper()
	ctx := context.WithoutCancel(d.t.Context()) // it is also used in the end
	out, err := proc.Output(ctx, proc.Cmd{Argv: append([]string{"tmux", "-f", "/dev/null", "-S", d.sock}, args...),
		Env: d.env, Dir: d.dir})
	if err != nil {
		d.t.Fatal(err)
	}
	return string(out)
}

func (d *desk) screen() string {
	d.t.Helper()
	return strings.TrimRight(d.tmux("capture-pane", "-p", "-J"), "\n ")
}

// sends types a line.
func (d *desk) sends(line string) {
	d.t.Helper()
	d.tmux("send-keys", "-l", line)
	d.tmux("send-keys", "Enter")
}

// types sends a line that ends a command, and waits for that, which must succeed.
func (d *desk) types(line string) {
	d.t.Helper()
	d.sends(line)
	d.prompted()
}

var prompt = regexp.MustCompile(`<(\d+):(\d+)>$`)

// prompted waits for the next prompt.
func (d *desk) prompted() {
	d.t.Helper()
	status := ""
	d.await("a prompt", func(screen string) bool {
		m := prompt.FindStringSubmatch(screen)
		if m == nil || m[1] == d.seen {
			return false
		}
		d.seen, status = m[1], m[2]
		return true
	})
	if status != "0" {
		d.t.Fatalf("it ended with %s\n%s", status, d.screen())
	}
}

func (d *desk) await(what string, ok func(string) bool) {
	d.t.Helper()
	for end := time.Now().Add(8 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if ok(d.screen()) {
			return
		}
		if time.Now().After(end) {
			d.t.Fatalf("%s never came", what)
		}
	}
}
