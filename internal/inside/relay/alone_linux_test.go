package relay

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a program that seems to rest while what it has started runs, however deep, and against one that never
// rests because it is several processes itself.
func TestAProgramIsAloneWithoutChildren(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, AloneFile)
	for _, name := range []string{"never", "begin", "stop"} {
		must.Do(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	tell := func(name string) { must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte("\n"), 0o600)) }
	await := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	is := func() bool { _, err := os.Lstat(file); return err == nil }
	p := must.Get(proc.Start(t.Context(), proc.Cmd{Dir: dir, Argv: []string{"sh", "-c",
		"(read x <never; :) & read x <begin; sh -c '(read x <stop; :); :'; read x <never"}}))(t)
	t.Cleanup(func() { _ = p.Signal(syscall.SIGKILL); _ = p.Wait() })
	await("its own child", func() bool { return len(children(p.Pid())) == 1 })
	go watchAlone(p.Pid(), file)
	await("not alone with what it is made of", is)
	tell("begin")
	await("alone with a child", func() bool { return !is() })
	tell("stop")
	await("not alone after its child", is)
	if children(1<<22+1) != nil {
		t.Error("a process that is not there has children")
	}
}
