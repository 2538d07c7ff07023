package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// These are the engines, the preferred one first.
const (
	podman = "podman"
	docker = "docker"
)

// engine is a container engine that answers.
type engine struct {
	Name     string `json:"engine"`
	Runtime  string `json:"runtime,omitempty"`
	Version  string `json:"version"`
	Rootless bool   `json:"rootless"`
	// These are the limits that the engine can set here.
	Memory bool `json:"memory"`
	Pids   bool `json:"pids"`
	CPU    bool `json:"cpu"`
	// These protect its containers beside namespaces.
	Seccomp bool `json:"seccomp"`
	SELinux bool `json:"selinux,omitempty"`
}

// answerTime limits questions that an engine should answer at once.
const answerTime = 2 * time.Minute

// findEngine asks the named engine, or the first that is installed. If an installed engine does not work, the error
// says how to repair it, unless the other one works.
func findEngine(ctx context.Context, c box.Container) (*engine, error) {
	names := []string{podman, docker}
	switch {
	case c.Engine == "":
	case slices.Contains(names, c.Engine):
		names = []string{c.Engine}
	default:
		return nil, fmt.Errorf("no container engine %q: there are podman and docker", c.Engine)
	}
	var first error
	for _, name := range names {
		e, err := ask(ctx, name, c.Runtime)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		// An engine that doesn't work is a better explanation than one that is not installed.
		if first == nil || errors.Is(first, proc.ErrNotFound) {
			first = err
		}
	}
	if errors.Is(first, proc.ErrNotFound) {
		return nil, missing(c.Engine)
	}
	return nil, first
}

func missing(name string) error {
	u := &box.Unavailable{What: "the container backend", Why: "neither podman nor docker is installed",
		Mend: "install podman, for example: sudo apt-get install podman uidmap"}
	if name != "" {
		u.What, u.Why, u.Mend = name, "it is not installed", "install it, for example: sudo apt-get install "+
			map[string]string{podman: "podman uidmap", docker: "docker.io"}[name]
	}
	return u
}

func ask(ctx context.Context, name, runtime string) (*engine, error) {
	if _, err := proc.LookPath(name); err != nil {
		return nil, err
	}
	e := &engine{Name: name, Runtime: runtime}
	out, err := e.output(ctx, "info", "--format", "json")
	if name == docker {
		out, err = e.output(ctx, "info", "--format", "{{json .}}")
	}
	if err != nil {
		return nil, err
	}
	if name == docker {
		return e, e.readDocker(out)
	}
	return e, e.readPodman(out)
}

func (e *engine) readPodman(data []byte) error {
	var info struct {
		Host struct {
			CgroupVersion     string
			CgroupControllers []string
			ServiceIsRemote   bool
			Security          struct{ Rootless, SeccompEnabled, SELinuxEnabled bool }
		}
		Version struct{ Version string }
	}
	if err := json.Unmarshal(data, &info); err != nil || info.Version.Version == "" {
		return fmt.Errorf("read podman info: %w", errors.Join(err, errors.New("no version")))
	}
	if info.Host.ServiceIsRemote {
		return &box.Unavailable{What: podman, Why: "it talks to another machine, where this one's directories can't be seen",
			Mend: "unset CONTAINER_HOST"}
	}
	has := func(c string) bool { return slices.Contains(info.Host.CgroupControllers, c) }
	e.Version, e.Rootless = info.Version.Version, info.Host.Security.Rootless
	// Rootless podman can't use cgroups of version 1, whatever it lists.
	usable := !e.Rootless || info.Host.CgroupVersion == "v2"
	e.Memory, e.Pids, e.CPU = usable && has("memory"), usable && has("pids"), usable && has("cpu")
	e.Seccomp, e.SELinux = info.Host.Security.SeccompEnabled, info.Host.Security.SELinuxEnabled
	return nil
}

func (e *engine) readDocker(data []byte) error {
	var info struct {
		ServerVersion   string
		MemoryLimit     bool
		PidsLimit       bool
		CPUCfsQuota     bool `json:"CpuCfsQuota"`
		SecurityOptions []string
		ServerErrors    []string
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return fmt.Errorf("read docker info: %w", err)
	}
	if len(info.ServerErrors) > 0 {
		return e.explain(errors.New(strings.Join(info.ServerErrors, "; ")))
	}
	if info.ServerVersion == "" {
		return errors.New("read docker info: no version")
	}
	e.Version = info.ServerVersion
	e.Memory, e.Pids, e.CPU = info.MemoryLimit, info.PidsLimit, info.CPUCfsQuota
	for _, o := range info.SecurityOptions {
		name, _, _ := strings.Cut(strings.TrimPrefix(o, "name="), ",")
		switch name {
		case "rootless":
			e.Rootless = true
		case "seccomp":
			e.Seccomp = !strings.Contains(o, "profile=unconfined")
		case "selinux":
			e.SELinux = true
		}
	}
	return nil
}

// output runs the engine and returns its standard output. It explains the engine's errors.
func (e *engine) output(ctx context.Context, args ...string) ([]byte, error) {
	return e.in(ctx, "", args...)
}

func (e *engine) in(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c := e.command(args...)
	c.Dir = dir
	return e.run(ctx, c)
}

// long is output without its time limit, for work that takes minutes.
func (e *engine) long(ctx context.Context, args ...string) ([]byte, error) {
	return e.run(ctx, e.command(args...))
}

func (e *engine) command(args ...string) proc.Cmd {
	argv := []string{e.Name}
	if e.Name == podman {
		argv = append(argv, "--log-level=error")
		if e.Runtime != "" {
			argv = append(argv, "--runtime", e.Runtime)
		}
	}
	return proc.Cmd{Argv: append(argv, args...), TiedToUs: true}
}

func (e *engine) run(ctx context.Context, c proc.Cmd) ([]byte, error) {
	out, err := proc.Output(ctx, c)
	if err != nil && ctx.Err() == nil {
		err = e.explain(err)
	}
	return out, err
}

// explain turns an engine's complaint into advice for the user.
func (e *engine) explain(err error) error {
	words := err.Error()
	for _, c := range complaints() {
		if c.engine != "" && c.engine != e.Name ||
			!slices.ContainsFunc(c.says, func(s string) bool { return strings.Contains(words, s) }) {
			continue
		}
		return &box.Unavailable{What: e.Name, Why: c.why, Mend: c.mend}
	}
	return err
}

// goes says whether an engine's error means that a container is gone or is being removed by somebody else.
func goes(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return ok && slices.ContainsFunc(
		[]string{"no such container", "No such container", "no container with", "already in progress"},
		func(words string) bool { return strings.Contains(exit.Stderr, words) })
}

type complaint struct {
	engine string
	says   []string
	why    string
	mend   string
}

func complaints() []complaint {
	const ranges = "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER && podman system migrate"
	return []complaint{
		{docker, []string{"permission denied while trying to connect", "Got permission denied"},
			"you may not talk to its daemon",
			"use podman, or: sudo usermod -aG docker $USER, which makes you root on this machine"},
		{docker, []string{"Cannot connect to the Docker daemon", "Is the docker daemon running", "error during connect"},
			"its daemon is not running",
			"sudo systemctl start docker (rootless: systemctl --user start docker)"},
		{podman, []string{"unable to connect to Podman", "Cannot connect to Podman"},
			"the service that it talks to is not running", "unset CONTAINER_HOST, or: systemctl --user start podman.socket"},
		{podman, []string{"newuidmap\": executable file not found", "newgidmap\": executable file not found",
			"newuidmap: executable", "command required for rootless mode"},
			"it can't run without root here: newuidmap is missing", "sudo apt-get install uidmap"},
		{podman, []string{"subuid", "subgid", "no subuid ranges", "insufficient UIDs or GIDs", "not enough IDs available",
			"cannot setup namespace using", "cannot set up namespace using"},
			"it can't run without root here: you have no range of subordinate ids", ranges},
		{podman, []string{"user namespaces are not enabled", "cannot clone: Operation not permitted",
			"cannot clone: Invalid argument"},
			"it can't run without root here: user namespaces are switched off",
			"sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000"},
		{"", []string{"is not supported in rootless mode with cgroups", "crun: invalid config"},
			"its runtime does not work with this machine's cgroups", "name another with --runtime, such as runc"},
	}
}
