package boxtest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

const toolVariable = "CCO_BOXTEST_TOOL"

// Tool is the cco-box that Main has built.
func Tool() string { return os.Getenv(toolVariable) }

// buildTool builds it as it is shipped.
func buildTool() (remove func(), err error) {
	if Tool() != "" {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "cco-tool-")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err = programs.Build(context.Background(), dir, "cco-box"); err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.Setenv(toolVariable, filepath.Join(dir, "cco-box"))
	}
	if err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// AsOrdinaryUser runs all tests of the calling package again as a user without rights, if root runs them.
func AsOrdinaryUser(t *testing.T) {
	const uid = 54321
	AsUser(t, uid, uid)
}

// AsUser runs all tests of the calling package again as another user, if root runs them. The variables in env override
// a home and a temporary directory that are removed with the test.
func AsUser(t *testing.T, uid, gid int, env ...string) {
	if os.Getuid() != 0 {
		return // this is an ordinary user already
	}
	dir, err := os.MkdirTemp("", "cco-user-") //nolint:usetesting // the parents of t.TempDir are closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "package.test")
	// Another user can run it there: go test builds it in a closed directory.
	self := must.Get(os.ReadFile(must.Get(os.Executable())(t)))(t)
	must.Do(t, os.WriteFile(program, self, 0o755))
	must.Do(t, os.Chown(dir, uid, gid))
	args := []string{program, "-test.timeout=20m"}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	out, err := proc.Output(t.Context(), proc.Cmd{
		Argv: args,
		Dir:  dir,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, toolVariable + "=" +
			Tool()}, env...),
		Attr: func(a *syscall.SysProcAttr) { a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} },
	})
	if err != nil {
		t.Fatalf("as user %d: %v\n%s", uid, err, out)
	}
	t.Logf("as user %d:\n%s", uid, out)
}
