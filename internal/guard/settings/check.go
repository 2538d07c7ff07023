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
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
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
		for _, v := range a.drops {
			if env(v) != "" {
				findings = append(findings, Finding{name, "environment", Loose, v + " is set, which drops hooks", "unset " + v})
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
		f.State, f.Detail, f.Mend = Loose, f.Detail+" can be written by others", "chmod go-w "+proc.ShellWord(i.Guard)
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
	p, err := guard.ParsePolicy(data)
	switch {
	case err != nil:
		f.Detail = fmt.Sprintf("%s: %v", i.Policy(), err)
	case filepath.Clean(p.Workspace) != i.Dir:
		f.Detail = fmt.Sprintf("%s is about %s", i.Policy(), p.Workspace)
	default:
		f.State = On
	}
	return f
}

// probes are what the hook is asked as the agent would ask, without anything being run.
var probes = []struct {
	what, command string
	code          int
	right, wrong  string
	lost          State
}{
	{"denies", "cd / && git commit --allow-empty -m probe", 2,
		"a commit outside the workspace is denied", "a commit outside the workspace was not denied", Off},
	{"allows", "ls", 0, "a plain ls passes", "a plain ls was not allowed", Loose},
}

// checkAgent looks at one agent: is the hook registered, does it decide, and does anything switch it off.
func (i Installation) checkAgent(ctx context.Context, a *Adapter) []Finding {
	l := look{Installation: i, Adapter: a}
	l.add("registered", Off, "no settings of "+a.agent+" name the hook", "cco guard install --agent "+a.agent)
	l.read()
	l.find()
	l.switches()
	if a.others != nil {
		a.others(&l)
	}
	if l.hook.Command == "" {
		return l.findings
	}
	for _, p := range probes {
		err := i.ask(ctx, a.row(), l.hook.Command, p.command)
		switch code := proc.Code(err); {
		case code == p.code:
			l.add(p.what, On, p.right, "")
		case code == 0 && hook.IsHeld(""):
			l.add(p.what, On, "the kernel holds what runs here, and the hook only reports", "")
		default:
			l.add(p.what, p.lost, fmt.Sprintf("%s: the hook ended with %d", p.wrong, code), "run `cco guard install` again")
		}
	}
	return l.findings
}

// askTime is how long a hook may take before it counts as broken.
const askTime = 30 * time.Second

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
