package boxtest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/proc"
)

const toolVariable = "CCO_BOXTEST_TOOL"

// Tool is the cco-box that Main has built.
func Tool() string { return os.Getenv(toolVariable) }

// buildTool builds it without cgo, which the test program itself may have been built with: an init can't change the
// credentials of all its threads then.
func buildTool() (remove func(), err error) {
	if Tool() != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "cco-tool-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	tool := filepath.Join(dir, "cco-box")
	err = proc.Run(context.Background(), proc.Cmd{
		Argv: []string{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", tool, "github.com/cco-dev/cco/cmd/cco-box"},
		Env:  append(os.Environ(), "CGO_ENABLED=0"),
	})
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.Setenv(toolVariable, tool)
	}
	if err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// AsOrdinaryUser runs all tests of the calling package again as a user without rights, if root runs them.
func AsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // it is one already
	}
	const uid = 54321
	dir, err := os.MkdirTemp("", "cco-user-") //nolint:usetesting // what is above t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "package.test")
	if err := copySelf(program); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, uid, uid); err != nil {
		t.Fatal(err)
	}
	args := []string{program, "-test.timeout=10m"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	out, err := proc.Output(t.Context(), proc.Cmd{
		Argv: args,
		Dir:  dir,
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, toolVariable + "=" + Tool()},
		Attr: func(a *syscall.SysProcAttr) { a.Credential = &syscall.Credential{Uid: uid, Gid: uid} },
	})
	if err != nil {
		t.Fatalf("as user %d: %v\n%s", uid, err, out)
	}
	t.Logf("as user %d:\n%s", uid, out)
}

// copySelf puts the test program where another user can run it: go test builds it in a closed directory.
func copySelf(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
