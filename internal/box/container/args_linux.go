package container

import (
	"fmt"
	"path"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// label marks the containers of a box.
const label = "cco.box"

// args is the command line with which the engine makes the container. It has every protection that the engine offers.
func (r *container) args() ([]string, error) {
	uid, gid := r.user()
	args := []string{
		"run", "--detach", "--rm", "--pull=never", "--name", r.name,
		"--label", label + "=" + boxKey(r.box), "--label", "cco.session=" + r.exec.Session,
		"--hostname", r.box.Name, "--network", "none", "--log-driver", "none",
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only",
		"--user", fmt.Sprintf("%d:%d", uid, gid), "--workdir", "/", "--entrypoint", jail.Tool,
	}
	args = append(args, r.special()...)
	args = append(args, r.bounds()...)
	for _, m := range r.mounts {
		// The engines disagree on how to write such a path.
		if strings.ContainsAny(m.Source+m.Target, ",\"\n\r") {
			return nil, fmt.Errorf("mount %q: a container can't be shown a path with a comma, a quote or a line break", m.Source)
		}
		if m.Layer != "" {
			args = append(args, "--volume", m.Source+":"+m.Target+":O") // a layer that goes with the container
			continue
		}
		arg := "type=bind,source=" + m.Source + ",target=" + m.Target
		if !m.Write {
			arg += ",readonly"
		}
		args = append(args, "--mount", arg)
	}
	return append(args, r.ID, "contain", path.Join(controlDir, cage.Socket)), nil
}

// special are arguments that only one of the engines needs.
func (r *container) special() []string {
	var args []string
	if r.Name == podman {
		// Without these it would add writable directories and the host's proxy variables by itself.
		args = append(args, "--read-only-tmpfs=false", "--http-proxy=false")
		if r.Rootless {
			args = append(args, "--userns", "keep-id")
		}
	} else if r.Runtime != "" {
		args = append(args, "--runtime", r.Runtime)
	}
	if r.SELinux {
		// A label of its own would deny the container the directories that it is given.
		args = append(args, "--security-opt", "label=disable")
	}
	return args
}

// bounds are the limits that the engine can set here. The init and the starter enforce the others.
func (r *container) bounds() []string {
	tmp := r.limits.Memory / 2
	args := []string{"--shm-size", strconv.FormatInt(tmp/2, 10)}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		args = append(args, "--tmpfs", fmt.Sprintf("%s:rw,nosuid,nodev,exec,mode=1777,size=%d", dir, tmp))
	}
	if r.Memory {
		memory := strconv.FormatInt(r.limits.Memory, 10)
		args = append(args, "--memory", memory, "--memory-swap", memory)
	}
	if r.Pids {
		args = append(args, "--pids-limit", strconv.Itoa(r.limits.Procs))
	}
	if r.CPU {
		cpus := r.box.Spec.Container.CPUs
		if cpus <= 0 || cpus > float64(runtime.NumCPU()) {
			cpus = float64(runtime.NumCPU())
		}
		args = append(args, "--cpus", strconv.FormatFloat(cpus, 'f', -1, 64))
	}
	// By default an engine asks for more than it may give if it is limited itself.
	for _, u := range []struct {
		name     string
		resource int
		most     uint64
	}{{"nofile", unix.RLIMIT_NOFILE, 1 << 20}, {"nproc", unix.RLIMIT_NPROC, 1 << 15}} {
		var l unix.Rlimit
		if unix.Getrlimit(u.resource, &l) == nil {
			n := min(l.Max, u.most)
			args = append(args, "--ulimit", fmt.Sprintf("%s=%d:%d", u.name, n, n))
		}
	}
	return args
}
