package container

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/must"
)

func TestWhatEnginesSayOfThemselves(t *testing.T) {
	const (
		rootful = `{"host":{"cgroupVersion":"v1","cgroupControllers":["cpu","memory","pids"],"serviceIsRemote":false,` +
			`"security":{"rootless":false,"seccompEnabled":true,"selinuxEnabled":false}},"version":{"Version":"4.3.1"}}`
		rootless = `{"host":{"cgroupVersion":"v1","cgroupControllers":["memory"],"security":{"rootless":true,` +
			`"seccompEnabled":true}},"version":{"Version":"4.3.1"}}`
		v2 = `{"host":{"cgroupVersion":"v2","cgroupControllers":["memory","pids"],"security":{"rootless":true,` +
			`"seccompEnabled":true,"selinuxEnabled":true}},"version":{"Version":"5.4.0"}}`
		dockerd = `{"ServerVersion":"20.10.24","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":true,` +
			`"SecurityOptions":["name=seccomp,profile=default","name=cgroupns"]}`
		lessd = `{"ServerVersion":"28.2.2","MemoryLimit":true,"PidsLimit":true,"CpuCfsQuota":false,` +
			`"SecurityOptions":["name=seccomp,profile=builtin","name=rootless","name=selinux"]}`
		open = `{"ServerVersion":"28.2.2","SecurityOptions":["name=seccomp,profile=unconfined"]}`
	)
	for _, c := range []struct {
		says string
		want engine
	}{
		{rootful, engine{Name: podman, Version: "4.3.1", Memory: true, Pids: true, CPU: true, Seccomp: true}},
		{rootless, engine{Name: podman, Version: "4.3.1", Rootless: true, Seccomp: true}},
		{v2, engine{Name: podman, Version: "5.4.0", Rootless: true, Memory: true, Pids: true, Seccomp: true, SELinux: true}},
		{dockerd, engine{Name: docker, Version: "20.10.24", Memory: true, Pids: true, CPU: true, Seccomp: true}},
		{lessd, engine{Name: docker, Version: "28.2.2", Rootless: true, Memory: true, Pids: true, Seccomp: true,
			SELinux: true}},
		{open, engine{Name: docker, Version: "28.2.2"}},
	} {
		got := engine{Name: c.want.Name}
		read := got.readPodman
		if got.Name == docker {
			read = got.readDocker
		}
		if err := read([]byte(c.says)); err != nil || got != c.want {
			t.Errorf("%v\ngot  %+v\nwant %+v", err, got, c.want)
		}
	}
	for _, bad := range []string{``, `{}`, `[]`, `{"host":{"serviceIsRemote":true},"version":{"Version":"5"}}`} {
		if err := (&engine{Name: podman}).readPodman([]byte(bad)); err == nil {
			t.Errorf("podman: %q was believed", bad)
		}
		if err := (&engine{Name: docker}).readDocker([]byte(bad)); err == nil {
			t.Errorf("docker: %q was believed", bad)
		}
	}
}

func TestComplaintsAreExplained(t *testing.T) {
	for says, mend := range map[string]string{
		"docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?": "systemctl start docker",
		"docker: permission denied while trying to connect to the Docker daemon socket":           "usermod -aG docker",
		`podman: Error: cannot set up namespace using "/usr/bin/newuidmap": exit status 1`:        "--add-subuids",
		`podman: exec: "newuidmap": executable file not found in $PATH`:                           "install uidmap",
		"podman: user namespaces are not enabled in /proc/sys/user/max_user_namespaces":           "sysctl",
	} {
		name, words, _ := strings.Cut(says, ": ")
		u, ok := errors.AsType[*box.Unavailable]((&engine{Name: name}).explain(errors.New(words)))
		if !ok || u.What != name || !strings.Contains(u.Mend, mend) {
			t.Errorf("%s: %+v", says, u)
		}
	}
	other := errors.New("something else")
	if err := (&engine{Name: podman}).explain(other); err != other { //nolint:errorlint // the very same
		t.Errorf("%v", err)
	}
	for _, name := range []string{"", podman, docker} {
		if u, ok := errors.AsType[*box.Unavailable](missing(name)); !ok || !strings.Contains(u.Mend, "apt-get install") {
			t.Errorf("%q: %v", name, u)
		}
	}
}

func TestTarsAreToldApart(t *testing.T) {
	pack := func(zip bool, names ...string) []byte {
		var plain bytes.Buffer
		w := tar.NewWriter(&plain)
		for _, n := range names {
			must.Do(t, w.WriteHeader(&tar.Header{Name: n, Typeflag: tar.TypeReg}))
		}
		must.Do(t, w.Close())
		if !zip {
			return plain.Bytes()
		}
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, err := z.Write(plain.Bytes())
		must.Do(t, errors.Join(err, z.Close()))
		return zipped.Bytes()
	}
	for _, c := range []struct {
		data  []byte
		saved bool
		bad   bool
	}{
		{pack(false, "./x", "./etc/passwd"), false, false},
		{pack(true, "bin/sh"), false, false},
		{pack(false, "blobs/sha256/x", "oci-layout"), true, false},
		{pack(true, "abc/layer.tar", "manifest.json"), true, false},
		{pack(false, "readme"), false, true},
		{[]byte("no tar at all"), false, true},
		{nil, false, true},
	} {
		saved, err := looksSaved(bufio.NewReader(bytes.NewReader(c.data)))
		if saved != c.saved || (err != nil) != c.bad {
			t.Errorf("%d bytes: %v, %v", len(c.data), saved, err)
		}
	}
}

// Guards against forgetting a protection on the engine's command line.
func TestEveryWallIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		engine engine
		more   string
	}{
		{engine{Name: podman, Rootless: true}, "--userns keep-id"},
		{engine{Name: podman, Memory: true, Pids: true, CPU: true}, "--memory 1000 --memory-swap 1000 --pids-limit 7"},
		{engine{Name: docker, Runtime: "runsc", SELinux: true}, "--runtime runsc --security-opt label=disable"},
	} {
		r := &container{
			made: &made{c.engine, image{ID: "sha256:1"}}, box: &box.Box{Name: "b", Dir: "/data/boxes/b"},
			id:     rooms.Identity{User: cage.User{UID: 7, GID: 8}},
			limits: box.Limits{Memory: 1000, Procs: 7}, name: "cco-b-x", mounts: []jail.Mount{{Source: "/a", Target: "/b"},
				{Source: "/c", Target: "/d", Write: true}},
		}
		args := must.Get(r.args())(t)
		line := strings.Join(args, " ") + " "
		for _, want := range []string{
			"--cap-drop ALL", "--security-opt no-new-privileges", "--read-only ", "--network none", "--user 7:8", "--pull=never",
			c.more,
			"--mount type=bind,source=/a,target=/b,readonly ", "--mount type=bind,source=/c,target=/d ",
			"sha256:1 contain /run/cco/control/starter",
		} {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %q in %s", c.engine.Name, want, line)
			}
		}
		for _, bad := range []string{"--privileged", "--cap-add", "docker.sock", "--pid", "--ipc", "--device"} {
			if slices.ContainsFunc(args, func(a string) bool { return a == bad || strings.HasPrefix(a, bad+"=") }) ||
				strings.Contains(line, "docker.sock") {
				t.Errorf("%s: there is %q", c.engine.Name, bad)
			}
		}
		r.mounts = append(r.mounts, jail.Mount{Source: "/a,readonly=false", Target: "/x"})
		if _, err := r.args(); err == nil {
			t.Error("a path with a comma is part of the command line")
		}
	}
}

// Guards against a home in which an agent has put links that mislead the making of caches.
func TestCachesFollowNoLinks(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	r := &container{id: rooms.Identity{User: cage.Me()}}
	must.Do(t, os.Symlink(elsewhere, filepath.Join(home, "deep")))
	r.link(home, "deep/down", "/var/cache/cco/x")
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	must.Do(t, os.MkdirAll(filepath.Join(home, "full", "of"), 0o755))
	r.link(home, "full", "/var/cache/cco/x")
	if st, err := os.Lstat(filepath.Join(home, "full")); err != nil || !st.IsDir() {
		t.Error("what the agent keeps was replaced")
	}
	for range 2 {
		r.link(home, "a/b", "/var/cache/cco/x")
	}
	if to, err := os.Readlink(filepath.Join(home, "a", "b")); err != nil || to != "/var/cache/cco/x" {
		t.Errorf("%q, %v", to, err)
	}
}
