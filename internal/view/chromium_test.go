//go:build heavy && linux

package view_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec" // chromedp starts it
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// chromium is Debian's, and how it is started: in its sandbox, where the machine has what that needs. It has none for
// root, and a browser of another user is not let in; so where the test is root's, it is in a user namespace in which
// root is an ordinary user.
type chromium struct {
	program string
	bare    string // why it has no sandbox
}

// ordinary makes a program one without any rights of root's.
func (c chromium) ordinary(a *syscall.SysProcAttr) {
	const id = 1000
	if os.Getuid() == 0 && c.bare == "" {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: os.Getgid(), Size: 1}}
	}
}

var theChromium = sync.OnceValues(func() (c chromium, err error) {
	if c.program, err = proc.LookPath("chromium"); err != nil {
		return c, err
	}
	dir, err := os.MkdirTemp("", "cco-browser-")
	if err != nil {
		return c, err
	}
	defer func() { _ = removed(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var words bytes.Buffer
	err = proc.Run(ctx, proc.Cmd{Argv: []string{c.program, "--headless", "--user-data-dir=" + dir, "--dump-dom",
		"about:blank"}, Dir: "/", Env: append(os.Environ(), "HOME="+dir), Stdout: &words, Stderr: &words,
		Attr: c.ordinary})
	if err != nil {
		c.bare = fmt.Sprintf("%v: %s", err, &words)
	}
	return c, nil
})

// removed removes a profile, where a browser's processes write a moment longer than the first of them lives.
func removed(dir string) error {
	err := os.RemoveAll(dir)
	for until := time.Now().Add(patience); err != nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		err = os.RemoveAll(dir)
	}
	return err
}

// start starts one, which ends with the test.
func (c chromium) start(t *testing.T) context.Context {
	t.Helper()
	if c.bare != "" {
		t.Logf("chromium has no sandbox here: %s", c.bare)
	}
	//nolint:usetesting // it writes there a moment longer than the test lives
	dir := must.Get(os.MkdirTemp("", "cco-browser-"))(t)
	t.Cleanup(func() { must.Do(t, removed(dir)) })
	alloc, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(c.program), chromedp.UserDataDir(dir), chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(2*time.Minute), chromedp.Env("HOME="+dir), chromedp.Flag("no-sandbox", c.bare != ""),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) {
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			c.ordinary(cmd.SysProcAttr)
		}))...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(alloc)
	t.Cleanup(end)
	return ctx
}
