package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// Setting is one line of git configuration.
type Setting struct{ Key, Value string }

// nowhere is a path below which nothing can ever exist.
const nowhere = "/dev/null"

// hardening holds for every git that we start, and overrides the system's, the user's and the repository's
// configuration. A repository's own core.hooksPath may point into its tree, at a file that an agent has just changed.
func hardening() []Setting {
	s := []Setting{
		{"core.hooksPath", nowhere},
		{"core.fsmonitor", "false"},
		{"core.pager", "cat"},
		{"core.editor", ":"},
		{"sequence.editor", ":"},
		{"core.askPass", ""},
		{"core.sshCommand", "false"},
		{"credential.helper", ""},
		{"commit.gpgSign", "false"},
		{"tag.gpgSign", "false"},
		{"log.showSignature", "false"},
		{"log.mailmap", "false"},
		{"submodule.recurse", "false"},
		{"fetch.recurseSubmodules", "false"},
		{"diff.submodule", "short"},
		{"status.submoduleSummary", "false"},
		{"gc.auto", "0"},
		{"gc.autoDetach", "false"},
		{"maintenance.auto", "false"},
		{"color.ui", "false"},
		{"advice.graftFileDeprecated", "false"},
		{"protocol.allow", "never"},
	}
	// A user's protocol.file.allow = always would win over protocol.allow. Nothing here needs any transport at all, so
	// a lazy fetch of a partial clone fails in gits that don't know GIT_NO_LAZY_FETCH too.
	for _, p := range []string{"file", "git", "http", "https", "ssh", "ext"} {
		s = append(s, Setting{"protocol." + p + ".allow", "never"})
	}
	return s
}

// ownConfig says where the user's configuration is, which the user may choose.
func ownConfig() []string {
	return []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}
}

// environment is ours without anything that steers git, and with the settings.
func environment(settings []Setting) []string {
	drop := []string{"LANG", "LANGUAGE", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE"}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		if slices.Contains(ownConfig(), key) {
			return false
		}
		return strings.HasPrefix(key, "GIT_") || strings.HasPrefix(key, "LC_") || slices.Contains(drop, key)
	})
	env = append(env,
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=",
		"GIT_EDITOR=:",
		"GIT_SEQUENCE_EDITOR=:",
		"GIT_PAGER=cat",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)),
	)
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.Key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.Value))
	}
	return env
}

// Host starts git, hardened, in one directory. Every git of this package and of git/quarantine is started by it.
type Host struct {
	dir   string
	env   []string
	Limit func(pid int) error // bounds a git that reads hostile objects
}

// NewHost is git in a directory, with settings over the hardening.
func NewHost(dir string, more ...Setting) Host {
	return Host{dir: dir, env: environment(append(hardening(), more...))}
}

// Bare is git in a bare repository: it does not search for one.
func Bare(dir string, more ...Setting) Host { return NewHost(dir, more...).With("GIT_DIR=" + dir) }

// Start starts a command of ours.
func (h Host) Start(ctx context.Context, c proc.Cmd) (*proc.Process, error) {
	p, err := proc.Start(ctx, c)
	if err != nil || h.Limit == nil {
		return p, err
	}
	if err := h.Limit(p.Pid()); err != nil {
		_ = p.Signal(syscall.SIGKILL)
		_ = p.Wait()
		return nil, err
	}
	return p, nil
}

// converse starts git with a pipe in each direction.
func (h Host) converse(ctx context.Context, args ...string) (in, out *os.File, p *proc.Process, err error) {
	inR, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = inR.Close() }()
	out, outW, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		return nil, nil, nil, err
	}
	defer func() { _ = outW.Close() }()
	c := h.Cmd(args...)
	c.Stdin, c.Stdout = inR, outW
	if p, err = h.Start(ctx, c); err != nil {
		_, _ = in.Close(), out.Close()
	}
	return in, out, p, err
}

// Finish starts a command and waits for its end.
func (h Host) Finish(ctx context.Context, c proc.Cmd) error {
	p, err := h.Start(ctx, c)
	if err != nil {
		return err
	}
	return p.Wait()
}

// With gives a host with more in its environment.
func (h Host) With(env ...string) Host {
	h.env = append(slices.Clone(h.env), env...)
	return h
}

// Cmd is a git command. If it is ended early, it has time to remove its locks.
func (h Host) Cmd(args ...string) proc.Cmd {
	return proc.Cmd{Argv: append([]string{"git"}, args...), Dir: h.dir, Env: h.env, Grace: 5 * time.Second}
}

// Run runs git with stdin, and discards its output.
func (h Host) Run(ctx context.Context, stdin io.Reader, args ...string) error {
	_, err := h.Feed(ctx, stdin, args...)
	return err
}

// Out runs git and returns what it prints.
func (h Host) Out(ctx context.Context, args ...string) ([]byte, error) {
	return h.Feed(ctx, nil, args...)
}

// Feed runs git with stdin and returns what it prints.
func (h Host) Feed(ctx context.Context, stdin io.Reader, args ...string) ([]byte, error) {
	var out bytes.Buffer
	c := h.Cmd(args...)
	c.Stdin, c.Stdout = stdin, &out
	err := h.Finish(ctx, c)
	return out.Bytes(), err
}

// Scan runs a command and hands over its output piece by piece, without the delimiter. An incomplete piece, because git
// died, is never handed over.
func (h Host) Scan(ctx context.Context, c proc.Cmd, delim byte, do func([]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pr, pw := io.Pipe()
	c.Stdout = pw
	p, err := h.Start(ctx, c)
	if err != nil {
		return err
	}
	go func() { _ = pw.CloseWithError(p.Wait()) }()
	in := bufio.NewReaderSize(pr, 64<<10)
	for {
		line, err := in.ReadBytes(delim)
		if err == nil {
			err = do(line[:len(line)-1])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			_ = pr.CloseWithError(err)
			return err
		}
	}
}

// Line runs git and returns its one line.
func (h Host) Line(ctx context.Context, args ...string) (string, error) {
	b, err := h.Out(ctx, args...)
	return strings.TrimSuffix(string(b), "\n"), err
}

// fields splits what git prints with -z.
func fields(b []byte) []string {
	b = bytes.TrimSuffix(b, []byte{0})
	if len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\x00")
}
