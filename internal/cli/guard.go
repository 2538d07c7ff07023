package cli

import (
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/safetext"
)

func guardCommand(a *commands) *cobra.Command {
	c := Group("guard", "Keep an agent inside its workspace, with or without a box",
		app.HoldFirst+`:
it looks at a tool call before it runs, and denies what plainly leaves the workspace.
Where the kernel holds, in a cage or a box, it denies nothing and only reports.

  cco guard run -- claude                            start an agent in a cage, here
  cco guard check -- 'cd /elsewhere && git commit'   what would be decided, and why
  cco guard install                                  put it around this worktree
  cco guard doctor                                   prove that it is on`)
	c.AddCommand(guardRunCommand(a), guardCheckCommand(a), guardHookCommand(a), guardInstallCommand(a),
		guardUninstallCommand(a),
		guardDoctorCommand(a),
		guardEnvCommand(a), guardPromptCommand(a), guardLogCommand(a), canaryCommand(a))
	return c
}

func guardCheckCommand(a *commands) *cobra.Command {
	var worktree, host, batch string
	var strict, asJSON bool
	c := &cobra.Command{
		Use: "check [flags] -- 'COMMAND'", Short: "Say whether a command would be allowed, and why not (exit 7)",
		Long: `Say whether the guard's hook would let an agent run a command in a worktree, and
if not, which part of it is wrong, by which rule, and where it really leads; and what
the cage of ` + "`cco guard run`" + ` would hold of it. Nothing is run.

With --batch, calls are read as JSON lines {"id","cwd","tool_name","tool_input"}
and answered in the same order.`,
		Example: `  cco guard check -- 'cd .. && git commit'
  cco guard check --worktree ../feature --json -- 'rm -rf build'`,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case batch != "" && len(args) > 0:
				return app.Usagef("give a command or --batch, not both")
			case batch == "" && len(args) != 1:
				return app.Usagef("give one command, quoted as one word: cco guard check -- 'cd .. && ls'")
			}
			policy, err := a.Policy(worktree, host)
			if err != nil {
				return err
			}
			if strict {
				policy.Scratch = nil
			}
			if batch != "" {
				return a.DecideBatch(policy, batch)
			}
			return a.showChecked(args[0], a.Check(policy, args[0]), asJSON)
		},
	}
	c.Flags().StringVar(&worktree, "worktree", "", "the agent's workspace (default: the repository that you are in)")
	c.Flags().StringVar(&host, "host", "", "the repository that it must not touch (default: a linked worktree's main one)")
	c.Flags().StringVar(&batch, "batch", "", "read calls from a file of JSON lines, or - for standard input")
	c.Flags().BoolVar(&strict, "strict", false, "allow no directories for temporary files")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// verdict is how `cco guard check --json` prints one.
type verdict struct {
	Verdict string     `json:"verdict"` // allow or deny
	Rule    guard.Rule `json:"rule,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Instead string     `json:"instead,omitempty"`
	Part    string     `json:"part,omitempty"`
	Start   int        `json:"start,omitempty"` // in bytes
	End     int        `json:"end,omitempty"`
	Path    string     `json:"path,omitempty"`
	Cage    string     `json:"cage"`
}

func (a *commands) showChecked(command string, checked app.Checked, asJSON bool) error {
	v := checked.Hook
	if asJSON {
		out := verdict{"deny", v.Rule, v.Reason, v.Instead, v.Part, v.Start, v.End, v.Path, checked.Cage}
		if v.Allow {
			out.Verdict = "allow"
		}
		if err := a.IO.JSON(out); err != nil {
			return err
		}
	} else {
		a.IO.Printf("%s\nin a cage: %s\n", a.explained(command, v), safetext.Text(checked.Cage))
	}
	if !v.Allow {
		return &statusError{exitDenied}
	}
	return nil
}

func guardHookCommand(a *commands) *cobra.Command {
	h := hook.Hook{Now: time.Now}
	c := &cobra.Command{
		Use: "hook --agent AGENT", Short: "Answer one hook call of an agent, as cco-guard does", Args: AtMost(0),
		Long: `Answer one hook call of an agent, read from standard input, as cco-guard does for
the agents themselves: exit 0 lets the call run, exit 2 denies it. Whatever goes
wrong is a denial.`,
		Example: "  cco guard hook --agent claude <call.json",
		RunE: func(*cobra.Command, []string) error {
			h.Socket = func() string { return a.Env("CCO_GUARD_SOCK") }
			h.In, h.Out, h.Err = a.IO.In, a.IO.Out, a.IO.Err
			if f, ok := a.IO.In.(*os.File); ok {
				h.In = hook.Input(f, hook.MaxTime)
			}
			if code := h.Run(); code != exitDone {
				return &statusError{code}
			}
			return nil
		},
	}
	c.Flags().StringVar(&h.Agent, "agent", "", "the agent that asks, by its name in `cco agent list`")
	c.Flags().StringVar(&h.Policy, "policy", "", "the policy to decide by (default "+hook.DefaultPolicy+")")
	return c
}

func guardPromptCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "prompt [DIR]", Short: "Print the rules as a block for an agent's prompt", Args: AtMost(1),
		Example: "  cco guard prompt >>AGENTS.md",
		RunE: a.onPolicy(func(p guard.Policy) error {
			_, err := io.WriteString(a.IO.Out, guard.Prompt(p))
			return err
		}),
	}
}

// onPolicy is the shape of commands that show something about a workspace.
func (a *commands) onPolicy(do func(guard.Policy) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		p, err := a.Policy(first(args), "")
		if err != nil {
			return err
		}
		return do(p)
	}
}

// first is the one argument of a command, "" if there is none.
func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
