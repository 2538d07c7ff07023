//go:build linux

package native

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/proc"
)

const toolVariable = "CCO_TEST_TOOL"

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// testMain builds the real cco-box: the test program itself may have been built with cgo, in which an init can't
// change the credentials of all its threads.
func testMain(m *testing.M) int {
	if os.Getenv(toolVariable) == "" {
		dir, err := os.MkdirTemp("", "cco-tool-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		tool := filepath.Join(dir, "cco-box")
		err = proc.Run(context.Background(), proc.Cmd{
			Argv: []string{"go", "build", "-o", tool, "github.com/cco-dev/cco/cmd/cco-box"},
			Env:  append(os.Environ(), "CGO_ENABLED=0"),
		})
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
		if err == nil {
			err = os.Setenv(toolVariable, tool)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return boxtest.Main(m, func() box.Driver { return testDriver() })
}

func testDriver() *Driver {
	return New(Options{Tool: os.Getenv(toolVariable), Path: os.Getenv("PATH")})
}

func testBox(t *testing.T) *box.Box {
	data := t.TempDir()
	return &box.Box{Name: "test", Backend: "native", Dir: filepath.Join(data, "boxes", "test"), Exchange: filepath.Join(data, "exchange")}
}

// created is a box that is running.
func created(t *testing.T) (*Driver, *box.Box) {
	t.Helper()
	d, b := testDriver(), testBox(t)
	if err := d.Create(t.Context(), b, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	return d, b
}

func shell(t *testing.T, d *Driver, b *box.Box, e box.Exec) (string, error) {
	t.Helper()
	var out bytes.Buffer
	e.Stdout = &out
	err := d.Run(t.Context(), b, e)
	return out.String(), err
}

func TestConformance(t *testing.T) {
	boxtest.Run(t, boxtest.Setup{Driver: testDriver(), New: testBox})
}

// TestAsOrdinaryUser runs every other test of this package again as a user without rights, when root runs them.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // it is one already
	}
	const uid = 54321
	dir, err := os.MkdirTemp("", "cco-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "native.test")
	copySelf(t, program)
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
		Env:  []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir, toolVariable + "=" + os.Getenv(toolVariable)},
		Attr: func(a *syscall.SysProcAttr) { a.Credential = &syscall.Credential{Uid: uid, Gid: uid} },
	})
	if err != nil {
		t.Fatalf("as user %d: %v\n%s", uid, err, out)
	}
	t.Logf("as user %d:\n%s", uid, out)
}

func copySelf(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
