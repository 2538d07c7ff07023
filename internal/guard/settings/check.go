package settings

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	for _, a := range agents {
		findings = append(findings, i.checkAgent(ctx, a)...)
	}
	for _, name := range []string{"CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"} {
		if env(name) != "" {
			findings = append(findings, Finding{"claude", "environment", Loose, name + " is set, which drops hooks",
				"unset " + name})
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
func (i Installation) checkAgent(ctx context.Context, agent string) []Finding {
	reg := i.registered(agent)
	out := append([]Finding{reg.finding}, reg.more...)
	for _, command := range reg.commands {
		out = append(out, i.try(ctx, agent, command)...)
	}
	return out
}

// try runs a registered command as the agent does, without ever running what it is asked about.
func (i Installation) try(ctx context.Context, agent, command string) []Finding {
	deny := i.ask(ctx, agent, command, "cd / && git commit --allow-empty -m probe")
	f := Finding{Agent: agent, What: "denies", State: On, Detail: "a commit outside the workspace is denied"}
	if code := proc.Code(deny); code != 2 {
		f.State, f.Detail, f.Mend = Off, fmt.Sprintf("a commit outside the workspace was not denied: the hook ended with %d",
			code), "run `cco guard install` again"
	}
	pass := i.ask(ctx, agent, command, "ls")
	g := Finding{Agent: agent, What: "allows", State: On, Detail: "a plain ls passes"}
	if pass != nil {
		g.State, g.Detail, g.Mend = Loose, "a plain ls was not allowed: "+pass.Error(), "run `cco guard install` again"
	}
	return []Finding{f, g}
}

// askTime is how long a hook may take before it counts as broken.
const askTime = 10 * time.Second

func (i Installation) ask(ctx context.Context, agent, hook, command string) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	call := map[string]any{"cwd": i.Dir, "hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input": map[string]string{"command": command}}
	if agent == "gemini" {
		call["hook_event_name"], call["tool_name"] = "BeforeTool", "run_shell_command"
	}
	_, err := proc.Output(ctx, proc.Cmd{Argv: []string{"sh", "-c", hook}, Dir: i.Dir,
		Stdin: bytes.NewReader([]byte(compact(call)))})
	return err
}

// registration is what was found of an agent's hook.
type registration struct {
	finding  Finding
	commands []string
	more     []Finding
}

func (r *registration) found(agent, file, command string) {
	r.finding = Finding{Agent: agent, What: "registered", State: On, Detail: "in " + file}
	r.commands = append(r.commands, command)
}

func (r *registration) add(agent, what string, s State, detail, mend string) {
	r.more = append(r.more, Finding{agent, what, s, detail, mend})
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
