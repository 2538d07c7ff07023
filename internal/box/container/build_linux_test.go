package container

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

func TestWhatIsBuiltOn(t *testing.T) {
	if name := base(); !strings.HasPrefix(name, "docker.io/library/debian:") || strings.ContainsAny(name, " \n") {
		t.Errorf("%q", name)
	}
}

func TestABuildIsShownALineASecond(t *testing.T) {
	var told []string
	now := time.Unix(0, 0)
	l := &listener{
		engine: "podman", now: func() time.Time { return now }, last: now, tail: proc.Tail{Max: 100},
		report: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) },
	}
	for i, words := range []string{
		"STEP 1\n", "half a ", "line\nand ", "\x1b[91mmore\x1b[0m\n", "1%\r2%\r\n", "\n", "the end\n", "without a break",
	} {
		now = time.Unix(0, int64(i)*int64(700*time.Millisecond))
		if n, err := l.Write([]byte(words)); n != len(words) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := []string{"podman: half a line", "podman: 2%", "podman: the end"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

func TestTheCauseOfABuildThatWentWrong(t *testing.T) {
	for said, want := range map[string]string{
		"": "it said nothing",
		"Trying to pull x...\nError: no such host\n": "Error: no such host",
		"Building dependency tree...E: Unable to locate package x\nE: other\nError: exit status 100\n": "" +
			"Unable to locate package x",
		"\x1b[91mE\x1b[0m\x1b[91m: \x1b[0m\x1b[91mno disk\x1b[0m\x1b[91m\n\x1b[0mreturned a code: 100\n": "no disk",
		"#5 1.2 E: Failed to fetch x\n":  "Failed to fetch x",
		"NOTE: nothing\nkilled\n":        "killed",
		"first\n" + "E: x\r\n\nlast\n\n": "x",
	} {
		l := (&engine{Name: docker}).listen(nil)
		_, _ = l.tail.Write([]byte(said))
		if got := l.cause(); got != want {
			t.Errorf("%q: %q, not %q", said, got, want)
		}
	}
}

// Guards against a build that can't reach its packages behind a proxy, and against a password on the command line.
func TestDockerIsToldOfProxies(t *testing.T) {
	got := proxies([]string{"PATH=/bin", "http_proxy=http://me:secret@proxy:3128", "NO_PROXY=localhost",
		"my_http_proxy=x"})
	if want := []string{"--build-arg", "http_proxy", "--build-arg", "NO_PROXY"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestStepsAreFoundBelowTheirEngine(t *testing.T) {
	p := must.Get(proc.Start(t.Context(), proc.Cmd{Argv: []string{"sleep", "600"}, Attr: func(a *syscall.SysProcAttr) {
		a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID
	}}))(t)
	if found := steps(os.Getpid()); !slices.Contains(found, p.Pid()) {
		t.Errorf("%d is not in %v", p.Pid(), found)
	}
	other := must.Get(proc.Start(t.Context(), proc.Cmd{Argv: []string{"sleep", "600"}}))(t)
	if found := steps(other.Pid()); len(found) > 0 {
		t.Errorf("%v", found)
	}
	for _, p := range []*proc.Process{p, other} {
		_ = p.Signal(syscall.SIGKILL)
		_ = p.Wait()
	}
}
