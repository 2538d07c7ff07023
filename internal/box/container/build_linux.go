package container

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the Containerfile
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

//go:embed Containerfile
var containerfile []byte

// base is the image that cco's own image is built on.
func base() string {
	_, rest, _ := strings.Cut(string(containerfile), "\nFROM ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

// own is cco's image, built once for each content of its Containerfile.
func (e *engine) own(ctx context.Context, report box.Report) (image, error) {
	sum := sha256.Sum256(containerfile)
	return e.built(ctx, "localhost/cco-box:"+hex.EncodeToString(sum[:6]), report)
}

func (e *engine) built(ctx context.Context, ref string, report box.Report) (image, error) {
	img, ok, err := e.has(ctx, ref)
	if err != nil || ok {
		return img, err
	}
	if _, err := e.named(ctx, base(), report); err != nil {
		return image{}, err
	}
	report("building the image %s, once", ref)
	if err := e.build(ctx, ref, report); err != nil {
		return image{}, err
	}
	return e.inspect(ctx, ref)
}

func (e *engine) build(ctx context.Context, ref string, report box.Report) error {
	empty, err := os.MkdirTemp("", "cco-build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(empty) }()
	// Use the host's network: a proxy may listen on its loopback, and an engine without root may have no network.
	args := []string{"build", "--force-rm", "--network", "host", "--tag", ref, "--file", "-"}
	if e.Name == docker {
		args = append(args, proxies(os.Environ())...)
	}
	said := e.listen(report)
	c := e.command(append(args, empty)...)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(containerfile), said, said
	p, err := proc.Start(context.WithoutCancel(ctx), c)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { e.breakOff(p) })()
	err = p.Wait()
	if err != nil && ctx.Err() == nil {
		return &box.Unavailable{
			What: "the image of container boxes", Why: "it can't be built: " + said.cause(),
			Mend: "check that Debian's packages can be reached (a proxy is taken from http_proxy), or make the box with " +
				"--image NAME or --image-tar FILE",
		}
	}
	return ctx.Err()
}

// proxies passes the host's proxy variables on to a build, as podman does by itself. The values, which may hold a
// password, stay in the environment.
func proxies(environ []string) []string {
	var args []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"},
			strings.ToLower(name)) {
			args = append(args, "--build-arg", name)
		}
	}
	return args
}

// breakTime is how long podman has to clean up a build. If it is writing the image, it has to finish that.
const breakTime = time.Minute

// breakOff ends a build. If podman is killed, it leaves a running step and half an image in its store; if the step is
// killed, podman removes all of it. Docker's daemon removes it when its client is gone.
func (e *engine) breakOff(p *proc.Process) {
	if e.Name == podman {
		enough := time.After(breakTime)
		again := time.NewTicker(50 * time.Millisecond) // a step may be about to begin
		defer again.Stop()
		for over := false; !over; {
			for _, pid := range steps(p.Pid()) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			select {
			case <-p.Done():
				return
			case <-enough:
				over = true
			case <-again.C:
			}
		}
	}
	_ = p.Signal(syscall.SIGKILL)
}

// steps finds the processes that a build runs: those below the engine that are the first of a pid namespace. When they
// end, so do all others in it.
func steps(engine int) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/status")
	parents := map[int]int{}
	var first []int
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			switch {
			case len(fields) == 2 && fields[0] == "PPid:":
				parents[pid], _ = strconv.Atoi(fields[1])
			case len(fields) > 2 && fields[0] == "NSpid:" && fields[len(fields)-1] == "1":
				first = append(first, pid)
			}
		}
	}
	return slices.DeleteFunc(first, func(pid int) bool {
		for depth := 0; pid > 1 && pid != engine && depth < 100; depth++ {
			pid = parents[pid]
		}
		return pid != engine
	})
}

// listener passes on an engine's output while it works, at most a line a second, and keeps the end of it.
type listener struct {
	engine string
	report box.Report
	now    func() time.Time
	last   time.Time
	tail   proc.Tail
}

func (e *engine) listen(report box.Report) *listener {
	return &listener{engine: e.Name, report: report, now: time.Now, last: time.Now(), tail: proc.Tail{Max: 4096}}
}

// Write never fails.
func (l *listener) Write(data []byte) (int, error) {
	_, _ = l.tail.Write(data)
	if now := l.now(); now.Sub(l.last) >= time.Second {
		said := l.tail.String()
		if lines := l.lines(said[:strings.LastIndexByte(said, '\n')+1]); len(lines) > 0 {
			l.report("%s: %s", l.engine, lines[len(lines)-1])
			l.last = now
		}
	}
	return len(data), nil
}

// lines are the lines of the output, without the colours that docker adds.
func (l *listener) lines(said string) []string {
	said = strings.NewReplacer("\x1b[91m", "", "\x1b[0m", "").Replace(said)
	lines := strings.FieldsFunc(said, func(r rune) bool { return r == '\n' || r == '\r' })
	return slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "" })
}

// cause is the reason of a failure: apt's first complaint or, if there is none, the last lines.
func (l *listener) cause() string {
	lines := l.lines(l.tail.String())
	for _, line := range lines {
		// Other words may precede it on the line, but none that ends the same, such as NOTE.
		if at := strings.Index(line, "E: "); at == 0 || at > 0 && !unicode.IsLetter(rune(line[at-1])) {
			return line[at+len("E: "):]
		}
	}
	if len(lines) == 0 {
		return "it said nothing"
	}
	return lines[len(lines)-1]
}
