// Command cco-cruise is one that kills itself with SIGKILL at the boundaries of steps, each time at a different
// one. CRASH_EVERY says at how many (1 is all, 0 is none), CRASH_SEED which ones, CRASH_LOG where to record each kill,
// CRASH_ONLY around which steps (all if it is empty), CRASH_MAX how many kills there may be, CRASH_EACH how many at one
// boundary whatever a step was given (another machine repeats steps at other times). CRASH_HOLD is a file that
// it makes at the boundary CRASH_AT ("before merge") unless it is there: it then waits until there is another with
// ".go" at the end of its name. CRASH_TROUBLE is a directory: there is trouble, a model that is overloaded and a disk
// that is full, and it remembers there which it has had.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cli/cruising"
	"github.com/cco-dev/cco/internal/cruise"
)

func main() {
	os.Exit(cli.Main(func(a *app.App) []*cobra.Command {
		p := &phases.Phases{App: a, Quiet: 300 * time.Millisecond}
		if log := os.Getenv("CRASH_LOG"); log != "" {
			p.Wrap = func(s cruise.Steps) cruise.Steps {
				if dir := os.Getenv("CRASH_TROUBLE"); dir != "" {
					s = &troubled{Steps: s, dir: dir}
				}
				return &killer{Steps: s, log: log, only: os.Getenv("CRASH_ONLY"), every: number("CRASH_EVERY"),
					most: number("CRASH_MAX"), each: number("CRASH_EACH"),
					seed: os.Getenv("CRASH_SEED"), hold: os.Getenv("CRASH_HOLD"), at: os.Getenv("CRASH_AT")}
			}
		}
		return cruising.For(p)
	}))
}

func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name)) // an unset one is zero
	return n
}

// troubled are steps that meet trouble.
type troubled struct {
	cruise.Steps
	dir string
}

// Work has a turn of each name meet an overloaded model at its first key, which it says again when it is asked again,
// as the record of a turn does.
func (s *troubled) Work(ctx context.Context, job cruise.Job) (cruise.Report, error) {
	name := strings.Join([]string{string(job.Role), job.Domain, string(job.Kind), strconv.Itoa(job.Round)}, "-")
	if s.first(name, job.Key) == job.Key {
		return cruise.Report{Error: "overloaded", Transient: true, Cost: 0.125}, nil
	}
	return s.Steps.Work(ctx, job)
}

// Save finds the disk full at the first save of each stage.
func (s *troubled) Save(ctx context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	mark := "save-" + strings.ReplaceAll(string(in.State.Stage), " ", "-")
	if f, err := os.OpenFile(s.dir+"/"+mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = f.Close()
		return cruise.Saved{}, &cruise.Temporary{Err: syscall.ENOSPC}
	}
	return s.Steps.Save(ctx, in)
}

// first remembers who was the first to use a name.
func (s *troubled) first(name, key string) string {
	file := s.dir + "/" + name
	if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString(key)
		_ = f.Close()
	}
	data, _ := os.ReadFile(file)
	return string(data)
}

// Within runs a step as the steps within would.
func (s *troubled) Within(ctx context.Context, step string, in json.RawMessage,
	run func(context.Context) error) error {
	if f, ok := s.Steps.(cruise.Fencer); ok {
		return f.Within(ctx, step, in, run)
	}
	return run(ctx)
}

// killer ends its process around steps.
type killer struct {
	cruise.Steps
	log, only   string
	every, most int
	each        int // kills at a boundary of a step whatever its input, 0 for one with each input
	seed        string
	hold, at    string
	mu          sync.Mutex
}

// Within runs a step as the steps within would, between two boundaries: it begins, and it is done but its phase does
// not know it yet.
func (k *killer) Within(ctx context.Context, step string, in json.RawMessage,
	run func(context.Context) error) error {
	between := func(ctx context.Context) error {
		k.boundary("before", step, in)
		defer k.boundary("after", step, in)
		return run(ctx)
	}
	if f, ok := k.Steps.(cruise.Fencer); ok {
		return f.Within(ctx, step, in, between)
	}
	return between(ctx)
}

// moment is a time in a step's input. A life that begins again sets those anew that no state was saved with.
var moment = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]*"`)

// boundary is one of them. A repeated step has the same input but for times, so its boundary is recognised and
// does not kill twice.
func (k *killer) boundary(when, step string, in json.RawMessage) {
	if when+" "+step == k.at {
		k.wait()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sum := sha256.Sum256(append([]byte(when+step), moment.ReplaceAll(in, nil)...))
	key := when + " " + step + " " + hex.EncodeToString(sum[:6])
	if k.each > 0 {
		key = when + " " + step + " any"
	}
	chosen := sha256.Sum256([]byte(k.seed + key))
	if k.only != "" && !slices.Contains(strings.Split(k.only, ","), step) {
		return
	}
	if k.every == 0 || binary.BigEndian.Uint32(chosen[:])%uint32(k.every) != 0 { // it is small
		return
	}
	before, _ := os.ReadFile(k.log) // there is none at first
	if strings.Count(string(before), key+"\n") >= max(1, k.each) || strings.Count(string(before), "\n") >= k.most {
		return
	}
	f, err := os.OpenFile(k.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	if _, err := f.WriteString(key + "\n"); err != nil {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal ends it here
}

// wait is held, unless somebody was before.
func (k *killer) wait() {
	f, err := os.OpenFile(k.hold, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_ = f.Close()
	for {
		if _, err := os.Stat(k.hold + ".go"); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // only the pace of asking
	}
}
