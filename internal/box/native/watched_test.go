//go:build linux

package native

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

const watchedVariable = "CCO_TEST_WATCHED"

// sightings record what happens in a box on a machine whose cgroups can't be used.
type sightings struct {
	Memory box.Layer
	Meals  map[string]string // how each kind of too much memory ended
	Score  string            // oom_score_adj of a program
	Reset  string            // the same after a program has set it to 0
	Frugal string            // how a program ended that shares memory within the limit
}

// watched hides the cgroups from us and our children, and checks what then limits a box's memory.
func watched() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	if err := unix.Mount("tmpfs", "/sys/fs/cgroup", "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("hide cgroups: %w", err)
	}
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cco-watched-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d := testDriver()
	b := &box.Box{Name: "watched", Dir: dir + "/boxes/watched", Exchange: dir + "/exchange"}
	if err := d.Create(ctx, b, nil); err != nil {
		return err
	}
	layers, err := d.Layers(ctx, b)
	if err != nil {
		return err
	}
	s := sightings{Meals: map[string]string{}}
	for _, l := range layers {
		if l.Name == "memory limit" {
			s.Memory = l
		}
	}
	place, err := d.Prepare(ctx, b, "0badcafe")
	if err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/eater", 0o755), os.WriteFile(dir+"/eater/e", self, 0o755))
	}
	if err != nil {
		return err
	}
	env := ""
	run := func(argv ...string) (string, error) {
		var out bytes.Buffer
		err := d.Run(ctx, b, box.Exec{Session: "0badcafe", Argv: argv, Stdout: &out, Env: []string{mealVariable + "=" + env},
			Binds: []box.Bind{{Path: dir + "/eater"}}, Limits: box.Limits{Memory: 128 << 20, Time: 2 * time.Minute}})
		return strings.TrimSpace(out.String()), err
	}
	for _, kind := range probe.Meals() {
		_, err := run(place.Tool, "probe", "eat", "512", kind)
		s.Meals[kind] = fmt.Sprint(err)
	}
	for _, env = range []string{"leaderless", "table", "socket", "tcp", "share"} {
		_, err := run(dir + "/eater/e")
		s.Meals[env] = fmt.Sprint(err)
	}
	s.Frugal = s.Meals["share"]
	delete(s.Meals, "share")
	if s.Score, err = run("cat", "/proc/self/oom_score_adj"); err != nil {
		return err
	}
	s.Reset, err = run("sh", "-c", "{ echo 0 > /proc/self/oom_score_adj; } 2>/dev/null; cat /proc/self/oom_score_adj")
	if err != nil {
		return err
	}
	if err := d.Destroy(ctx, b); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// Guards against memory that the watchdog doesn't see: behind a descriptor, of System V, in sockets, of threads. Also
// against killing a process within the limit, because shared pages are counted more than once.
func TestTheWatchdogSeesEveryKindOfMemory(t *testing.T) {
	self := must.Get(os.Executable())(t)
	cmd := proc.Cmd{Argv: []string{self}, Env: append(os.Environ(), watchedVariable+"=1"),
		Attr: func(a *syscall.SysProcAttr) {
			a.Cloneflags = unix.CLONE_NEWNS
			if os.Getuid() != 0 {
				a.Cloneflags |= unix.CLONE_NEWUSER
				a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
				a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
				a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
			}
		}}
	out := must.Get(proc.Output(t.Context(), cmd))(t)
	var s sightings
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !s.Memory.Active || !strings.Contains(s.Memory.Detail, "by watchdog: watched, not enforced") {
		t.Errorf("layer %+v", s.Memory)
	}
	for kind, end := range s.Meals {
		if !strings.Contains(end, "killed") {
			t.Errorf("four times too much memory (%s): %s", kind, end)
		}
	}
	if s.Frugal != "<nil>" {
		t.Errorf("80 of 128 MB, held in two ways: %s", s.Frugal)
	}
	if s.Score != "500" {
		t.Errorf("oom_score_adj is %s", s.Score)
	}
	want := "0"
	if mayHoldScores(t) {
		want = "500"
	}
	if s.Reset != want {
		t.Errorf("oom_score_adj is %s after a program set it to 0, want %s", s.Reset, want)
	}
}

// mayHoldScores says whether the oom_score_adj that we write for a process is the lowest that it can choose later.
func mayHoldScores(t *testing.T) bool {
	t.Helper()
	head, data := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	must.Do(t, unix.Capget(&head, &data[0]))
	return os.Getuid() == 0 && data[0].Effective&(1<<unix.CAP_SYS_RESOURCE) != 0
}
