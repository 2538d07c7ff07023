// Package doctor checks a machine, and says what is missing and how to fix it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"syscall"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Check is the result of one check.
type Check struct {
	Name   string `json:"name"`
	Level  Level  `json:"level"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
}

// Level says how bad it is.
type Level string

// The levels of a check.
const (
	OK   Level = "ok"
	Warn Level = "warn" // cco works, with less
	Fail Level = "fail" // the main job does not work
)

// Input is what the doctor looks at.
type Input struct {
	Data     string
	Tool     string // cco-box, or cco itself if that isn't beside it
	Guard    string // cco-guard, "" if it isn't beside cco
	Self     string
	Backends []Backend
	Default  string // the backend that must work
	Agents   agent.Own
}

// Backend is a backend that is looked at.
type Backend struct {
	Name    string
	Driver  box.Driver
	Profile func(path string) string // the AppArmor profile that lets a program make user namespaces; nil for none
}

// Run makes all checks.
func Run(ctx context.Context, in Input) []Check {
	checks := []Check{checkGit(ctx), checkDisk(in.Data), checkTool(in), checkGuard(in)}
	for _, b := range in.Backends {
		checks = append(checks, checkBackend(ctx, in, b)...)
	}
	for _, a := range in.Agents.All() {
		checks = append(checks, checkAgent(ctx, in.Data, a))
	}
	return checks
}

// Healthy says whether nothing has failed.
func Healthy(checks []Check) bool {
	for _, c := range checks {
		if c.Level == Fail {
			return false
		}
	}
	return true
}

// oldest is the first git with every feature that cco uses: NUL-separated worktree lists came last.
const oldestMajor, oldestMinor = 2, 36

func checkGit(ctx context.Context) Check {
	c := Check{Name: "git", Level: Fail, Mend: fmt.Sprintf("install git %d.%d or newer", oldestMajor, oldestMinor)}
	out, err := proc.Output(ctx, proc.Cmd{Argv: []string{"git", "--version"}})
	if err != nil {
		c.Detail = err.Error()
		return c
	}
	m := regexp.MustCompile(`^git version (\d+)\.(\d+)`).FindSubmatch(out)
	if m == nil {
		c.Detail = "says " + strconv.Quote(string(out))
		return c
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	c.Detail = fmt.Sprintf("%d.%d", major, minor)
	if major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
		c.Level, c.Mend = OK, ""
	}
	return c
}

// tight is how little free space makes sessions likely to fail.
const tight = 1 << 30

func checkDisk(dir string) Check {
	c := Check{Name: "disk", Level: Fail}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.Detail, c.Mend = err.Error(), "make it writable, or set XDG_DATA_HOME"
		return c
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		c.Detail = err.Error()
		return c
	}
	free := st.Bavail * uint64(st.Bsize) // a block size is positive; its type differs by system
	c.Detail = fmt.Sprintf("%.1f GiB free for %s", float64(free)/(1<<30), dir)
	c.Level = OK
	if free < tight {
		c.Level, c.Mend = Warn, "free some space, `cco box prune` shows what old sessions hold"
	}
	return c
}

func checkTool(in Input) Check {
	if in.Tool == in.Self {
		return Check{Name: "cco-box", Level: Warn, Detail: "not beside cco, which stands in for it and starts slower",
			Mend: "run `make install`, which installs both"}
	}
	return Check{Name: "cco-box", Level: OK, Detail: in.Tool}
}

func checkGuard(in Input) Check {
	if in.Guard == "" {
		return Check{Name: "cco-guard", Level: Warn,
			Detail: "not beside cco: boxes are refused, unless `--accept no-guard` allows them to have no hook",
			Mend:   "run `make install`, which installs all three"}
	}
	return Check{Name: "cco-guard", Level: OK, Detail: in.Guard}
}

func checkBackend(ctx context.Context, in Input, b Backend) []Check {
	name, d := b.Name, b.Driver
	c := Check{Name: "backend " + name, Level: OK, Detail: "works here"}
	if name == in.Default {
		c.Detail = "works here (default)"
	}
	if err := d.Check(ctx); err != nil {
		c.Level, c.Detail = Warn, err.Error()
		if name == in.Default {
			c.Level = Fail
		}
		if b.Profile != nil && restricted() {
			c.Mend = "put this into /etc/apparmor.d/cco and run `sudo apparmor_parser -r /etc/apparmor.d/cco`:\n" +
				b.Profile(in.Self)
		}
	}
	list := []Check{c}
	layers, err := d.Layers(ctx, &box.Box{Name: "doctor"})
	if err != nil || c.Level != OK {
		return list
	}
	for _, l := range layers {
		one := Check{Name: name + ": " + l.Name, Level: OK, Detail: l.Detail, Mend: l.Mend}
		if !l.Active {
			one.Level = Warn
		}
		list = append(list, one)
	}
	return list
}

// restricted says whether this is Ubuntu's way of blocking user namespaces.
func restricted() bool {
	data, err := os.ReadFile("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
	return err == nil && len(data) > 0 && data[0] == '1'
}

func checkAgent(ctx context.Context, data string, a agent.Adapter) Check {
	c := Check{Name: "agent " + a.Name(), Level: OK, Detail: "part of cco"}
	if a.Binary() == "" {
		return c
	}
	p, err := install.Find(ctx, data, a)
	if missing := (*install.MissingError)(nil); errors.As(err, &missing) {
		return Check{Name: c.Name, Level: Warn, Detail: "not installed", Mend: "install it with `" + agent.Install(a) + "`"}
	}
	if err != nil {
		return Check{Name: c.Name, Level: Warn, Detail: err.Error(), Mend: "install it with `" + agent.Install(a) + "`"}
	}
	c.Detail = p.Path
	if p.Version != "" {
		c.Detail = p.Version + " at " + p.Path
	}
	return c
}
