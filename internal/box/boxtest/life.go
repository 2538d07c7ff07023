package boxtest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

func (s *suite) wantRunning(want bool) {
	s.Helper()
	got, err := s.Driver.Running(s.ctx, s.box)
	s.must(err)
	if got != want {
		s.Errorf("running is %v, want %v", got, want)
	}
}

// lifecycle does everything twice: the second time must change nothing.
func lifecycle(s *suite) {
	d, b := s.Driver, s.box
	s.must(d.Check(s.ctx))
	s.must(d.Create(s.ctx, b, s.report))
	s.wantRunning(true)
	s.session(one)
	s.out(sh(one, `echo kept > kept`))
	s.must(d.Stop(s.ctx, b))
	s.must(d.Stop(s.ctx, b))
	s.wantRunning(false)
	if _, _, err := s.run(sh(one, `:`)); !errors.Is(err, box.ErrNotRunning) {
		s.Errorf("a run in a stopped box: %v", err)
	}
	s.must(d.Start(s.ctx, b, s.report))
	s.must(d.Start(s.ctx, b, s.report))
	s.wantRunning(true)
	wantText(s.T, s.out(sh(one, `cat kept`)), "kept")
	s.must(d.Destroy(s.ctx, b))
	s.must(d.Destroy(s.ctx, b))
	s.wantRunning(false)
}

// stopped guards against a keeper that continues in a box that somebody else has stopped: its record is an old one.
func stopped(s *suite) {
	old := *s.box
	s.must(s.Driver.Stop(s.ctx, s.box))
	if err := s.Driver.Run(s.ctx, &old, box.Exec{Argv: []string{"true"}}); !errors.Is(err, box.ErrNotRunning) {
		s.Errorf("a run with an old record: %v", err)
	}
}

func sessions(s *suite) {
	place := s.session(one)
	if again := s.session(one); again != place {
		s.Errorf("prepared twice it is at %+v and at %+v", place, again)
	}
	s.out(sh(one, `echo text > file`))
	s.session(one)
	wantText(s.T, s.out(sh(one, `cat file`)), "text")
	for _, bad := range []string{"", "..", "a/b", ".", "../x", "-x"} {
		if _, err := s.Driver.Prepare(s.ctx, s.box, bad); err == nil {
			s.Errorf("session %q was prepared", bad)
		}
		if err := s.Driver.Discard(s.ctx, s.box, bad); err == nil {
			s.Errorf("session %q was discarded", bad)
		}
	}
	// Files that an agent makes hard to remove are removed, even if their path is longer than any call accepts.
	deep := cmp.Or(s.Deep, 3000)
	name := strings.Repeat("d", max(1, 6000/deep-1)) + "/"
	s.out(sh(one, `mkdir -p a/b/c && touch a/b/c/d && chmod 0 a/b/c a/b a; mkdir ro && touch ro/x && chmod 555 ro
		i=0; while [ $i -lt $1 ]; do mkdir -p $2 && cd $2 || break; i=$((i+1)); done`, strconv.Itoa(deep/10),
		strings.Repeat(name, 10)))
	s.must(s.Driver.Discard(s.ctx, s.box, one))
	s.must(s.Driver.Discard(s.ctx, s.box, one))
	if _, _, err := s.run(sh(one, `:`)); err == nil {
		s.Error("a discarded session still runs programs")
	}
	s.session(one)
	if _, _, err := s.run(sh(one, `cat file`)); err == nil {
		s.Error("a discarded session's file is back")
	}
}

func homes(s *suite) {
	s.session(one)
	s.session(two)
	s.out(sh(one, `echo mine > "$HOME/file"`))
	wantText(s.T, s.out(sh(one, `cat "$HOME/file"`)), "mine")
	s.out(sh("", `echo mine > "$HOME/own" && echo mine > "$HOME/.cache/own"`))
	for _, other := range []string{two, ""} {
		if text, _, err := s.run(sh(other, `cat "$HOME/file"`)); err == nil {
			s.Errorf("session %q sees the home of another: %q", other, text)
		}
	}
}

func provision(s *suite) {
	s.box.Spec.Setup = []string{
		`echo "made by setup" > "$HOME/made"; ln -s / "$HOME/root"; ln -s /etc "$HOME/.conf"`, `exit 0`}
	files := []box.File{
		{Path: ".claude/skills/x/SKILL.md", Data: []byte("skill\n"), Mode: 0o644},
		{Path: "bin/run", Data: []byte("#!/bin/sh\necho ran\n"), Mode: 0o755},
	}
	s.must(s.Driver.Provision(s.ctx, s.box, files, s.report))
	files[0].Data = []byte("better skill\n")
	s.box.Spec.Setup = nil
	s.must(s.Driver.Provision(s.ctx, s.box, files, s.report))
	s.session(one)
	for _, id := range []string{one, ""} {
		wantText(s.T, s.out(sh(id, `cd && cat .claude/skills/x/SKILL.md made && bin/run && readlink root`)),
			"better skill\nmade by setup\nran\n/")
	}
	s.out(sh(one, `echo changed > "$HOME/made"; echo changed > "$HOME/.claude/skills/x/SKILL.md"`))
	s.session(two)
	wantText(s.T, s.out(sh(two, `cd && cat .claude/skills/x/SKILL.md made`)), "better skill\nmade by setup")
	for _, bad := range []string{"../out", "/etc/passwd", ".conf/x", "root/tmp/x", ""} {
		if err := s.Driver.Provision(s.ctx, s.box, []box.File{{Path: bad, Data: []byte("x")}}, s.report); err == nil {
			s.Errorf("file %q was put", bad)
		}
	}
	s.box.Spec.Setup = []string{`exit 7`}
	wantCode(s.T, s.Driver.Provision(s.ctx, s.box, nil, s.report), 7)
}

func caches(s *suite) {
	s.box.Spec.Caches = []string{".cache", "deep/down/cache"}
	s.session(one)
	s.session(two)
	s.out(sh(one, `echo a > "$HOME/.cache/a"; echo b > "$HOME/deep/down/cache/b"`))
	for _, id := range []string{one, two, ""} {
		wantText(s.T, s.out(sh(id, `cat "$HOME/.cache/a" "$HOME/deep/down/cache/b"`)), "a\nb")
	}
	s.must(s.Driver.Discard(s.ctx, s.box, one))
	wantText(s.T, s.out(sh(two, `cat "$HOME/.cache/a"`)), "a")
	// A link in the place of a cache must not lead elsewhere.
	s.out(sh(two, `cd && mv deep was && ln -s /etc deep`))
	s.out(sh(two, `ls /etc/down && exit 1; :`))
}

// aside shows that a check writes to caches, and leaves nothing there that decides another one.
func aside(s *suite) {
	s.box.Spec.Caches = []string{".cache", "deep/down/cache"}
	s.session(two)
	s.out(sh(two, `echo a > "$HOME/.cache/a"; echo b > "$HOME/deep/down/cache/b"`))
	check := sh("", `cd ~/.cache && cat a && echo false > a && echo false > new && rm ~/deep/down/cache/b && cat a new`)
	check.Aside = true
	wantText(s.T, s.out(check), "a\nfalse\nfalse")
	wantText(s.T, s.out(sh(two, `cd && cat .cache/a deep/down/cache/b; ls .cache/new 2>&1 | grep -c such`)), "a\nb\n1")
}

// halt ends a session's processes, and no other's.
func halt(s *suite) {
	s.session(one)
	s.session(two)
	ctx, stopAll := context.WithCancel(s.ctx)
	defer stopAll()
	var waits []func() error
	for _, id := range []string{one, two} {
		file := s.host(id, "beat")
		place := s.session(id)
		waits = append(waits, s.start(ctx, sh(id, heart, place.Exchange+"/beat"), file))
	}
	s.must(s.Driver.Halt(s.ctx, s.box, one))
	if err := waits[0](); err == nil {
		s.Error("a halted run succeeded")
	}
	s.wantStopped(s.host(one, "beat"))
	s.wantBeating(s.host(two, "beat"))
	s.must(s.Driver.Halt(s.ctx, s.box, one))
	s.out(sh(one, `:`))
	stopAll()
	_ = waits[1]()
}

func stop(s *suite) {
	place := s.session(one)
	file := s.host(one, "beat")
	wait := s.start(s.ctx, sh(one, `( `+heart+` ) & wait`, place.Exchange+"/beat"), file)
	s.must(s.Driver.Stop(s.ctx, s.box))
	s.wantStopped(file)
	if err := wait(); err == nil {
		s.Error("a run in a stopped box succeeded")
	}
	s.wantRunning(false)
}

// killedStarter kills the process that called Run, as the kernel would if memory ran out.
func killedStarter(s *suite) {
	place := s.session(one)
	file := s.host(one, "beat")
	self, err := os.Executable()
	s.must(err)
	p, err := proc.Start(s.ctx, proc.Cmd{
		Argv: []string{self},
		Env:  append(os.Environ(), starterEnv(s, one, sh(one, `( `+heart+` ) & wait`, place.Exchange+"/beat").Argv)),
	})
	s.must(err)
	s.await(func() bool {
		select {
		case <-p.Done():
			s.Fatalf("the starter ended: %v", p.Wait())
		default:
		}
		st, err := os.Stat(file)
		return err == nil && st.Size() > 40 // the starter has recorded the pid long ago
	})
	s.must(p.Signal(9))
	_ = p.Wait()
	// Dying processes must be gone when Halt returns.
	s.must(s.Driver.Halt(s.ctx, s.box, one))
	s.wantStopped(file)
	s.wantRunning(true)
	s.out(sh(one, `:`))
	s.must(s.Driver.Discard(s.ctx, s.box, one))
	if left, _ := filepath.Glob(filepath.Join(s.box.Dir, "run", "*.run")); len(left) > 0 {
		s.Errorf("traces of runs are left: %v", left)
	}
}

func timeLimit(s *suite) {
	s.session(one)
	e := sh(one, `sleep 1000`)
	e.Limits.Time = 200 * time.Millisecond
	_, _, err := s.run(e)
	if _, ok := errors.AsType[*box.LimitError](err); !ok {
		s.Errorf("it ended with %v", err)
	}
}

func layers(s *suite) {
	list, err := s.Driver.Layers(s.ctx, s.box)
	s.must(err)
	if len(list) == 0 {
		s.Error("no layer is reported, not even a missing one")
	}
	for _, l := range list {
		s.Logf("%-14s %-5v %s", l.Name, l.Active, l.Detail)
		if !l.Active && l.Detail == "" {
			s.Errorf("layer %s doesn't say why it is missing", l.Name)
		}
	}
}
