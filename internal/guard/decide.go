// Package guard decides whether an agent's tool call may run. It does no I/O
// but resolving links, through an interface that the caller owns.
//
// A shell command is parsed as bash and interpreted abstractly: directories, variables and written scripts are followed
// as far as they are known. Where a call acts (a command word, a directory, a redirect, something to be removed,
// program text) what can't be known is denied; where it only passes data, it is let through.
package guard

import (
	"errors"
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/jsontext"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program"
	"github.com/cco-dev/cco/internal/guard/verdict"
)

// Decide says whether call may run under policy. It never panics, and it denies whatever it can't read, follow or
// finish within its bounds. The resolver may be nil, which leaves links unresolved.
func Decide(policy Policy, links land.Resolver, call Call) (v Verdict) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case verdict.Denial:
			v = r.Verdict
		default:
			v = Verdict{Rule: verdict.RuleInternal, Reason: "the guard could not finish its work on this call",
				Instead: "split the call into simpler ones"}
		}
	}()
	if err := policy.Validate(); err != nil {
		return Verdict{Rule: verdict.RuleInput, Reason: err.Error()}
	}
	s := tools{Judge: program.New(policy, links, call.Cwd, call.Typed)}
	s.OnBranch(call.Branch, call.MadeHere)
	s.tool(call)
	return Verdict{Allow: true}
}

// Policy says where an agent may work.
type Policy = land.Policy

// Verdict is what Decide says. The zero value denies.
type Verdict = verdict.Verdict

// Rule names the reason of a denial.
type Rule = verdict.Rule

// Call is one tool call that an agent wants to make.
type Call struct {
	// Tool is the name by which the agent calls the tool.
	Tool string
	// Input is the tool's input as the agent sent it, in JSON.
	Input []byte
	// Cwd is the directory that relative paths start from.
	Cwd string
	// Branch is the branch that HEAD of the workspace is on, if the caller
	// knows it. On another branch than the policy's nothing may be committed.
	Branch string
	// MadeHere says that this branch was made in the workspace, and so is the agent's own like the policy's.
	MadeHere bool
	// Typed says that the agent can type into a program that it has started, without being asked about it again.
	Typed bool
}

// Command makes the call of a shell tool.
func Command(cwd, command string) Call {
	return Call{Tool: "Bash", Input: []byte(`{"command":` + jsontext.Quote(command) + `}`), Cwd: cwd}
}

// ParseCall reads what an agent asks its hook. All of them name the same things
// alike. Names are matched exactly, as the agents do.
func ParseCall(data []byte) (call Call, err error) {
	v, err := jsontext.Parse(string(data))
	if err != nil || !v.Object() {
		return call, errors.New("it is not a JSON object")
	}
	event := ""
	for _, f := range [...]struct {
		name   string
		to     *string
		needed bool
	}{{"cwd", &call.Cwd, true}, {"tool_name", &call.Tool, true}, {"hook_event_name", &event, false}} {
		value, present := v.Field(f.name)
		text, ok := value.Text()
		switch {
		case !present && f.needed:
			return Call{}, errors.New("its " + f.name + " is missing")
		case present && !ok:
			return Call{}, errors.New("its " + f.name + " is not text")
		}
		*f.to = text
	}
	if event != "" && !roster.IsEvent(event) {
		return Call{}, errors.New("it is about " + event + " and not about a tool")
	}
	input, _ := v.Field("tool_input")
	call.Input = []byte(input.Raw)
	return call, nil
}

// CacheRoots names the directories below home in which build tools keep what they can fetch or build again.
func CacheRoots(home string) []string {
	names := []string{
		".cache", "go", ".npm", ".cargo", ".rustup", ".gradle", ".m2", ".ivy2", ".sbt", ".nuget",
		".bun/install", ".deno", ".pnpm-store", ".local/share/pnpm", ".yarn", ".yarn-cache", ".gem", ".bundle",
		".ccache", ".sccache", ".node-gyp", ".pub-cache", ".hex", ".mix", ".stack", ".cabal", ".opam",
		".julia", ".conda/pkgs", ".local/share/virtualenvs", ".local/share/uv", ".terraform.d/plugin-cache",
		".electron", ".electron-gyp", ".cypress", ".android/cache", ".konan", ".dart", ".nx", ".turbo",
		".pyenv/versions", ".nvm/versions", ".local/state/fnm_multishells", "Library/Caches",
	}
	for i, name := range names {
		names[i] = path.Join(home, name)
	}
	return names
}

// Prompt is the guard's part of a prompt: the rules that it enforces, with the
// real paths, so that an agent need not learn them from denials.
func Prompt(p Policy) string {
	prompt := "## SANDBOX RULES (CRITICAL)\n\n"
	line := func(s string) { prompt += "- " + s + "\n" }
	line("You work in an isolated workspace: `" + p.Workspace + "`. All of your work belongs there.")
	outside := "`" + p.Workspace + "`"
	if len(p.Scratch) > 0 {
		outside += " and the directories for temporary files"
	}
	line("Never `cd` to an absolute path outside " + outside + ". Use relative paths.")
	if p.Host != "" {
		line("Never aim a git command at the host repository `" + p.Host +
			"`: no `git -C`, `--git-dir`, `--work-tree`, `GIT_DIR` or path that leads there.")
	} else {
		line("Never aim a git command at a repository outside the workspace.")
	}
	if p.Branch != "" {
		line("Commit only to the current branch, `" + p.Branch +
			"`, or to a new one that you make. Do not move, delete or check out other branches, make no tags, and do not " +
			"change git's configuration.")
	} else {
		line("Commit only to the current branch.")
	}
	if len(p.Scratch) > 0 {
		line("Temporary files may go to `" + strings.Join(p.Scratch, "`, `") + "`, and you may work there.")
	}
	line("Do not touch the settings of this guard or of the agent's hooks.")
	line("Violations are blocked and logged. If a command is denied, read the reason and do the same within the " +
		"workspace; do not try to get around it.")
	return prompt
}
