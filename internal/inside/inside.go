// Package inside is the part of cco that runs in a box: it clones what was sent, runs script plans and publishes an
// agent's work. The host trusts nothing that it says.
package inside

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// Job tells Receive and Publish what they work on. It reaches them on standard input.
type Job struct {
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Exchange  string `json:"exchange"`
	Store     string `json:"store,omitempty"` // the box's objects of this repository; "" clones from the exchange alone
	Branch    string `json:"branch"`
	Base      string `json:"base"`
	Name      string `json:"name,omitempty"` // the host's user.name and user.email
	Email     string `json:"email,omitempty"`
	Format    string `json:"format,omitempty"` // object format, sha1 by default
	// Message makes leftovers a commit on the branch itself, not one beside it, because the workspace is used again.
	Message string `json:"message,omitempty"`
	// the size of the largest leftover file that is taken; 100 MiB by default
	MaxFile int64 `json:"max_file,omitempty"`
	Shallow bool  `json:"shallow,omitempty"` // it was sent with its history cut
	What

	leftTime time.Duration // the time limit for leftovers
	lookTime time.Duration // and for refs and HEAD
}

// What says what is published, if it is not the commits since the base and what was left uncommitted.
type What struct {
	NoWip bool `json:"no_wip,omitempty"` // leave leftovers where they are
	All   bool `json:"all,omitempty"`    // also what is beside the branch
}

func (j Job) look() time.Duration { return cmp.Or(j.lookTime, lookTime) }

// most is the size of the largest file that is kept. A sparse file costs an agent nothing, and hashing it would take us
// hours.
func (j Job) most() int64 { return cmp.Or(max(0, j.MaxFile), defaultMost) }

const defaultMost = 100 << 20

// These are the files of an exchange directory.
const (
	InputBundle  = "input.bundle"
	InputRepo    = "input.git" // a shallow bare repository, which a bundle can't carry
	PlanFile     = "plan.md"
	OutputBundle = "output.bundle"
	RestBundle   = "rest.bundle" // what is beside the branch
	ResultFile   = "result.json"
	ErrorFile    = "error.txt"
	QuestionFile = "question.txt" // while it exists, the agent waits for a person
	AnswerFile   = "answer.txt"   // the person's answer to an agent that is still running, which removes both
)

// These are the refs of an output bundle.
const (
	OutRef = "refs/cco/out"
	WipRef = "refs/cco/wip"
)

// Result is what Publish found. It is written to result.json when everything is in place.
type Result struct {
	Session string `json:"session"`
	Base    string `json:"base"`
	Head    string `json:"head"`
	Wip     string `json:"wip,omitempty"`     // a commit of what was left uncommitted
	NoWip   bool   `json:"no_wip,omitempty"`  // leftovers were not looked for
	Commits int    `json:"commits,omitempty"` // from the base to the head
	Files   int    `json:"files,omitempty"`   // that they change
	Bundle  *Sum   `json:"bundle,omitempty"`
	Rest    *Sum   `json:"rest,omitempty"` // of what is beside the branch, if that was asked for
	Others
}

// Others is what a workspace holds beside its branch.
type Others struct {
	Names []string `json:"others,omitempty"` // the first of it, such as branches and stashes
	Count int      `json:"beside,omitempty"` // how much it is
	Lost  []string `json:"lost,omitempty"`   // what no bundle brings
}

// Sum identifies a file of the exchange.
type Sum struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// ReadJob reads the job of a subcommand.
func ReadJob(r io.Reader) (Job, error) {
	var j Job
	dec := json.NewDecoder(io.LimitReader(r, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil {
		return j, fmt.Errorf("read job: %w", err)
	}
	return j, nil
}

// repo is a repository in the box. Where its configuration is an agent's, settings that would run programs are switched
// off: not for safety, which the box provides, but so that cco's steps do not hang or lie.
type repo struct {
	dir    string
	bare   bool
	gitDir string // replaces the directory's own
	index  string // replaces the repository's index file
	env    []string
}

// Git has only messages and no status for these. cmd sets the language, so that they don't depend on the box's.
const (
	saysWarning  = "warning: "
	saysUnopened = saysWarning + "could not open directory " // git continues without the directory
	saysIgnoring = "Ignoring path "                          // and without a file that it can't hold
)

func (r repo) cmd(args ...string) proc.Cmd {
	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=/dev/null", "GIT_NO_LAZY_FETCH=1", "GIT_CEILING_DIRECTORIES=" +
			filepath.Dir(r.dir),
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") && !strings.HasPrefix(v, "LC_ALL=") {
			env = append(env, v)
		}
	}
	above := quiet()
	for i, kv := range above {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, kv[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, kv[1]))
	}
	env = append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(above)))
	if r.gitDir != "" {
		env = append(env, "GIT_DIR="+r.gitDir)
	}
	if !r.bare {
		env = append(env, "GIT_WORK_TREE="+r.dir) // whatever core.worktree and core.bare say
	}
	if r.index != "" {
		env = append(env, "GIT_INDEX_FILE="+r.index)
	}
	return proc.Cmd{Argv: append([]string{"git"}, args...), Dir: r.dir, Env: append(env, r.env...)}
}

func (r repo) run(ctx context.Context, args ...string) error {
	return proc.Run(ctx, r.cmd(args...))
}

func (r repo) line(ctx context.Context, args ...string) (string, error) {
	out, err := proc.Output(ctx, r.cmd(args...))
	return strings.TrimSpace(string(out)), err
}

// quiet is the configuration that overrides an agent's.
func quiet() [][2]string {
	return [][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"gc.auto", "0"},
		{"maintenance.auto", "false"}, {"core.excludesFile", "/dev/null"}, {"core.attributesFile", "/dev/null"},
		{"commit.gpgSign", "false"}, {"log.showSignature", "false"}, {"advice.addEmbeddedRepo", "false"},
		{"advice.graftFileDeprecated", "false"}, {"submodule.recurse", "false"}, {"safe.directory", "*"},
		// What an agent wrote beside its commits must not say which there are.
		{"core.commitGraph", "false"}, {"core.multiPackIndex", "false"}, {"pack.useBitmaps", "false"},
		// Nothing here needs a transport. If an object is missing, git would fetch it with a program that the agent names.
		{"protocol.allow", "never"}, {"core.sshCommand", "false"}, {"core.askPass", ""}, {"credential.helper", ""},
	}
}
