package guard

import (
	"path"

	"github.com/cco-dev/cco/internal/guard/jsontext"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/verdict"
)

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
	// MadeHere says that this branch was made in the workspace, and so is the
	// agent's own like the policy's.
	MadeHere bool
	// Typed says that the agent can type into a program that it has started,
	// without being asked about it again.
	Typed bool
}

// Command makes the call of a shell tool.
func Command(cwd, command string) Call {
	return Call{Tool: "Bash", Input: []byte(`{"command":` + jsontext.Quote(command) + `}`), Cwd: cwd}
}

// CacheRoots names the directories below home in which build tools keep what
// they can fetch or build again.
func CacheRoots(home string) []string {
	names := []string{
		".cache", "go", ".npm", ".cargo", ".rustup", ".gradle", ".m2", ".ivy2", ".sbt", ".nuget",
		".bun/install", ".deno", ".pnpm-store", ".local/share/pnpm", ".yarn", ".yarn-cache", ".gem", ".bundle",
		".ccache", ".sccache", ".node-gyp", ".pub-cache", ".hex", ".mix", ".stack", ".cabal", ".opam",
		".julia", ".conda/pkgs", ".local/share/virtualenvs", ".local/share/uv", ".terraform.d/plugin-cache",
		".electron", ".electron-gyp", ".cypress", ".android/cache", ".konan", ".dart", ".nx", ".turbo",
		".pyenv/versions", ".nvm/versions", ".local/state/fnm_multishells", "Library/Caches",
	}
	roots := make([]string, len(names))
	for i, name := range names {
		roots[i] = path.Join(home, name)
	}
	return roots
}
