package settings

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/proc"
)

// Finding is one thing that was looked at.
type Finding struct {
	Agent  string
	What   string
	State  State
	Detail string
	Mend   string
}

// State says what a finding means for the guard.
type State int

// The states. Unknown is not on.
const (
	Off   State = iota // the guard doesn't hold
	Loose              // it holds, and can be lost in this way
	On
)

// Check proves whether the guard is on for the agents given: it looks for the hook where the agent would read it, runs
// it as the agent would, with a call that must be denied and one that must pass, and looks for what switches hooks off.
func (i Installation) Check(ctx context.Context, agents []string, env func(string) string) []Finding {
	findings := []Finding{i.checkGuard(), i.checkPolicy()}
	for _, name := range agents {
		a, err := i.adapter(name)
		if err != nil {
			findings = append(findings, Finding{Agent: name, What: "registered", Detail: err.Error()})
			continue
		}
		findings = append(findings, i.checkAgent(ctx, a)...)
		if d, ok := a.(dropper); ok {
			for _, v := range d.dropping() {
				if env(v) != "" {
					findings = append(findings, Finding{name, "environment", Loose, v + " is set, which drops hooks", "unset " + v})
				}
			}
		}
	}
	return findings
}

func (i Installation) checkGuard() Finding {
	f := Finding{What: "program", Detail: i.Guard, Mend: "install cco-guard beside cco"}
	info, err := os.Stat(i.Guard)
	switch {
	case err != nil:
		f.Detail = err.Error()
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		f.Detail += " can't be run"
	case info.Mode()&0o022 != 0:
		f.State, f.Detail, f.Mend = Loose, f.Detail+" can be written by others", "chmod go-w "+quote(i.Guard)
	default:
		f.State = On
	}
	return f
}

func (i Installation) checkPolicy() Finding {
	f := Finding{What: "policy", Detail: i.Policy(), Mend: "run `cco guard install` again"}
	data, err := os.ReadFile(i.Policy())
	if err != nil {
		f.Detail = err.Error()
		return f
	}
	p, err := land.ParsePolicy(data)
	switch {
	case err != nil:
		f.Detail = fmt.Sprintf("%s: %v", i.Policy(), err)
	case filepath.Clean(p.Workspace) != i.Dir:
		f.Detail = fmt.Sprintf("%s is about %s", i.Policy(), p.Workspace)
	case p.Linked && discover.Branch(p.GitDir) != p.Branch:
		f.State, f.Detail = Loose, fmt.Sprintf("it lets the agent commit on %q, and the worktree is on %q", p.Branch,
			discover.Branch(p.GitDir))
	default:
		f.State = On
	}
	return f
}

// checkAgent looks at one agent: is the hook registered, does it decide, and does anything switch it off.
func (i Installation) checkAgent(ctx context.Context, a installer) []Finding {
	name := a.Agent()
	reg := registration{finding: Finding{Agent: name, What: "registered", Detail: "no settings of " + name +
		" name the hook", Mend: "cco guard install --agent " + name}}
	a.find(i, &reg)
	out := append([]Finding{reg.finding}, reg.more...)
	for _, command := range reg.commands {
		out = append(out, i.try(ctx, row(a), command)...)
	}
	return out
}

// try runs a registered command as the agent does, without ever running what it is asked about.
func (i Installation) try(ctx context.Context, r roster.Row, command string) []Finding {
	deny := i.ask(ctx, r, command, "cd / && git commit --allow-empty -m probe")
	f := Finding{Agent: r.Name, What: "denies", State: On, Detail: "a commit outside the workspace is denied"}
	if code := proc.Code(deny); code != 2 {
		f.State, f.Detail, f.Mend = Off, fmt.Sprintf("a commit outside the workspace was not denied: the hook ended with %d",
			code), "run `cco guard install` again"
	}
	pass := i.ask(ctx, r, command, "ls")
	g := Finding{Agent: r.Name, What: "allows", State: On, Detail: "a plain ls passes"}
	if pass != nil {
		g.State, g.Detail, g.Mend = Loose, "a plain ls was not allowed: "+pass.Error(), "run `cco guard install` again"
	}
	return []Finding{f, g}
}

// askTime is how long a hook may take before it counts as broken.
const askTime = 10 * time.Second

func (i Installation) ask(ctx context.Context, r roster.Row, hook, command string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	tool, _, _ := strings.Cut(r.Tools.Shell, " ")
	call := map[string]any{"cwd": i.Dir, "hook_event_name": r.Event, "tool_name": tool,
		"tool_input": map[string]string{"command": command}}
	_, err := proc.Output(ctx, proc.Cmd{Argv: []string{"sh", "-c", hook}, Dir: i.Dir,
		Env:   append(os.Environ(), "CCO_GUARD_SOCK="+os.DevNull), // a trial is not for the log
		Stdin: bytes.NewReader([]byte(compact(call)))})
	return err
}

// registration is what was found of an agent's hook.
type registration struct {
	finding  Finding
	commands []string
	more     []Finding
}

func (r *registration) found(file, command string) {
	r.finding = Finding{Agent: r.finding.Agent, What: "registered", State: On, Detail: "in " + file}
	r.commands = append(r.commands, command)
}

func (r *registration) add(what string, s State, detail, mend string) {
	r.more = append(r.more, Finding{r.finding.Agent, what, s, detail, mend})
}

// ours picks the command that decides by this policy. That it is the guard is then proved by running it.
func (i Installation) ours(commands []string) (string, bool) {
	for _, c := range commands {
		if strings.Contains(c, "--policy "+quote(i.Policy())) {
			return c, true
		}
	}
	return "", false
}
