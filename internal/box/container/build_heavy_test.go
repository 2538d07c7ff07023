//go:build heavy && linux

package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
)

// TestOwnImage builds the default image of boxes, with Debian's packages. It needs no registry: the base of its
// Containerfile is made here.
func TestOwnImage(t *testing.T) {
	if os.Getuid() == 0 && engineUnderTest() == podman {
		return // TestWithoutRoot runs this rootless, as podman is meant to be used
	}
	e := must.Get(findEngine(t.Context(), box.Container{Engine: engineUnderTest()}))(t)
	if _, ok, err := e.has(t.Context(), base()); err != nil {
		t.Fatal(err)
	} else if !ok {
		must.Get(e.long(t.Context(), "import", root(t), base()))(t)
		removeImage(t, e, base())
	}
	ref := fmt.Sprintf("localhost/cco-test:%d", os.Getpid()) // not a name that is in use
	removeImage(t, e, ref)

	t.Run("BrokenOff", func(t *testing.T) { brokenOff(t, e, ref) })
	t.Run("Built", func(t *testing.T) { built(t, e, ref) })
	t.Run("NoRegistry", func(t *testing.T) {
		_, err := e.named(t.Context(), "registry.invalid/debian:none", t.Logf)
		if u, ok := errors.AsType[*box.Unavailable](err); !ok || !strings.Contains(u.Why, "registry.invalid") ||
			!strings.Contains(u.Mend, "--image-tar") {
			t.Errorf("%v", err)
		}
	})
}

func removeImage(t *testing.T, e *engine, ref string) {
	t.Cleanup(func() {
		if _, ok, err := e.has(context.WithoutCancel(t.Context()), ref); err == nil && !ok {
			return
		}
		if _, err := e.long(context.WithoutCancel(t.Context()), "rmi", ref); err != nil {
			t.Error(err)
		}
	})
}

// aptSays is what is told of the step that installs packages. Not every line is told: on a fast network none of those
// about fetching may be.
var aptSays = regexp.MustCompile(`http://|Selecting|Preparing|Unpacking|Setting up`)

// brokenOff does what Ctrl-C does, while a step of the build runs.
func brokenOff(t *testing.T, e *engine, ref string) {
	before := containers(t, e)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := e.built(ctx, ref, func(format string, args ...any) {
		if aptSays.MatchString(fmt.Sprintf(format, args...)) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, ok, err := e.has(t.Context(), ref); ok || err != nil {
		t.Errorf("there is an image: %v, %v", ok, err)
	}
	// Docker's daemon cleans up when it notices that nobody waits any more.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		after := containers(t, e)
		if after == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left over:\n%s\nbefore:\n%s", after, before)
		}
	}
}

// containers are the engine's containers, including podman's working containers of a build.
func containers(t *testing.T, e *engine) string {
	t.Helper()
	args := []string{"ps", "--all", "--quiet"}
	if e.Name == podman {
		args = append(args, "--external")
	}
	out := must.Get(e.output(t.Context(), args...))(t)
	return string(out)
}

func built(t *testing.T, e *engine, ref string) {
	told := 0
	must.Get(e.built(t.Context(), ref, func(format string, args ...any) {
		told++
		t.Logf(format, args...)
	}))(t)
	if told < 3 {
		t.Errorf("a build of many seconds was told of %d times", told)
	}
	d, b := testDriver(), testBox(t)
	b.Spec.Container.Image, b.Spec.Container.ImageTar = ref, ""
	must.Do(t, d.Create(t.Context(), b, t.Logf))
	t.Cleanup(func() {
		if err := d.Destroy(context.WithoutCancel(t.Context()), b); err != nil {
			t.Error(err)
		}
	})
	const script = `set -e
for program in bash gcc curl git jq less node npm ssh ps python3 rg unzip wget; do
	command -v $program >/dev/null || echo no $program; done
cd "$HOME" && git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one
node -e 'console.log(JSON.stringify({log: "six times seven"}))' | jq -r .log | rg -o seven`
	var out, words bytes.Buffer
	if err := d.Run(t.Context(), b, box.Exec{Argv: []string{"sh", "-c", script}, Stdout: &out,
		Stderr: &words}); err != nil || out.String() != "seven\n" {
		t.Errorf("%v, %q\n%s", err, out.String(), words.String())
	}
}
