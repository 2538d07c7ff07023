package aside_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// childDir makes the test's own program one that brings over what is in a directory, and does nothing else.
const childDir = "ASIDE_TEST_DIR"

// child opens the private repository, brings over what is new, and makes it ready for a cage again.
func child(ctx context.Context) error {
	r := &rig{dir: os.Getenv(childDir), user: gittest.At(nil, os.Getenv("ASIDE_TEST_TREE"))}
	repo, err := aside.Open(ctx, r.dir, r.user.Dir, aside.Options{})
	if err != nil {
		return err
	}
	if _, err := repo.End(ctx, r.inside); err != nil {
		return err
	}
	return repo.Refresh(ctx)
}

// Guards against a kill -9 of cco after any of the gits that it runs: no commit is lost, the user's repository is
// whole, and the next start brings over the rest. A git in front of the real one kills whoever started it, once it has
// done its work for the nth time.
func TestKilledAtAnyPoint(t *testing.T) {
	real := must.Get(proc.LookPath("git"))(t)
	for n := 1; ; n++ {
		r := newRig(t, []string{"linked", "main"}[n%2])
		r.git("switch", "-q", "-c", "topic")
		r.commit("one", "1\n")
		r.git("switch", "-q", r.branch())
		tip := r.commit("two", "2\n")
		r.git("switch", "-q", "topic")
		topic := r.commit("three", "3\n")
		r.user.Write("staged", "x\n")
		r.git("add", "staged")

		bin := t.TempDir()
		count := filepath.Join(bin, "count")
		must.Program(t, filepath.Join(bin, "git"), "#!/bin/sh\n"+real+` "$@"
code=$?
i=1; until mkdir `+count+`.$i 2>/dev/null; do i=$((i+1)); done # two may run at once
[ $i -ne `+strconv.Itoa(n)+` ] || kill -9 $PPID
exit $code
`)
		env := append(os.Environ(), childDir+"="+r.dir, "ASIDE_TEST_TREE="+r.user.Dir, "ASIDE_TEST_BOX="+box,
			"PATH="+bin+":"+os.Getenv("PATH"))
		err := proc.Run(t.Context(), proc.Cmd{Argv: []string{os.Args[0]}, Env: env})
		if out, err := r.user.Try("", "fsck", "--strict", "--no-dangling"); err != nil {
			t.Fatalf("after git %d: fsck: %v: %s", n, err, out)
		}
		r.user.Git("status")
		r.repo = nil
		r.open()
		if pending := must.Get(r.repo.Pending())(t); pending {
			r.end()
		}
		r.whole()
		r.at("topic", topic)
		r.at(r.branch(), tip)
		r.status("A  staged")
		if r.user.Git("symbolic-ref", "--short", "HEAD") != "topic" || t.Failed() {
			t.Fatalf("after git %d: HEAD or more is wrong", n)
		}
		if err == nil {
			if n < 20 {
				t.Errorf("only %d gits ran", n)
			}
			t.Logf("killed after each of %d gits", n-1)
			return
		}
	}
}

func runChild() {
	box = os.Getenv("ASIDE_TEST_BOX")
	if err := child(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
