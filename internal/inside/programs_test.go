package inside

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against publishing that runs, waits for or fails because of a program that the agent has configured.
func TestPublishRunsNoProgramOfTheAgents(t *testing.T) {
	filter := func(key string) func(*fixture, string, string) {
		return func(f *fixture, w, trap string) {
			f.git(w, "config", "filter.a=b.C."+key, trap)
			f.git(w, "config", "filter.a=b.C.required", "true")
			f.write(w, ".git/info/attributes", "* filter=a=b.C\n")
		}
	}
	for _, c := range []struct {
		name  string
		agent func(*fixture, string, string)
	}{
		{"a clean filter", filter("clean")},
		{"a filter process", filter("process")},
		{"a filter of a worktree", func(f *fixture, w, trap string) {
			f.git(w, "config", "extensions.worktreeConfig", "true")
			f.git(w, "worktree", "add", "-q", "--detach", "inner")
			inner := filepath.Join(w, "inner")
			f.git(inner, "config", "--worktree", "filter.x.clean", trap)
			f.write(inner, "inner.txt", "inner")
			f.write(w, ".git/info/attributes", "inner.txt filter=x\n")
		}},
		{"a signature's examination", func(f *fixture, w, trap string) {
			f.git(w, "config", "log.showSignature", "true")
			f.git(w, "config", "gpg.program", trap)
			raw := f.git(w, "cat-file", "commit", "HEAD")
			signed := strings.Replace(raw, "\n\n",
				"\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n", 1)
			f.write(w, ".git/signed", signed+"\n")
			f.git(w, "reset", "-q", "--hard", f.git(w, "hash-object", "-t", "commit", "-w", ".git/signed"))
		}},
		{"a fetch of what is missing", func(f *fixture, w, trap string) {
			f.git(w, "config", "extensions.partialClone", "far")
			f.git(w, "config", "remote.far.promisor", "true")
			f.git(w, "config", "remote.far.url", "ext::"+trap)
			f.git(w, "config", "protocol.ext.allow", "always")
			f.write(w, ".git/ORIG_HEAD", strings.Repeat("12", 20)+"\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.write(w, "b.txt", "b")
			head := f.commit(w, "work")
			trap := filepath.Join(t.TempDir(), "trap")
			if err := os.WriteFile(trap, []byte("#!/bin/sh\necho ran >> \"$0.ran\"\nexit 1\n"),
				0o700); err != nil { // a program
				t.Fatal(err)
			}
			c.agent(f, w, trap)
			f.write(w, "left.txt", "left")
			_ = os.Remove(trap + ".ran")
			r := f.publish()
			if exists(trap + ".ran") {
				t.Error("the program was run")
			}
			if len(r.Lost) > 0 || !f.has("left.txt", "left") || !f.has("b.txt", "b") {
				t.Errorf("%+v, with %s committed", r, head)
			}
		})
	}
}

// Guards against settings that name a FIFO, for which git waits: nothing came back, and nothing could be ended.
func TestPublishWaitsForNoFIFO(t *testing.T) {
	for name, agent := range map[string]func(f *fixture, w, fifo string){
		"included":         func(f *fixture, w, fifo string) { f.git(w, "config", "include.path", fifo) },
		"on a condition":   func(f *fixture, w, fifo string) { f.git(w, "config", "includeIf.gitdir:/.path", fifo) },
		"excludes":         func(f *fixture, w, fifo string) { f.git(w, "config", "core.excludesFile", fifo) },
		"attributes":       func(f *fixture, w, fifo string) { f.git(w, "config", "core.attributesFile", fifo) },
		"of a worktree":    func(f *fixture, w, fifo string) { f.write(w, ".git/config.worktree", "[include]\npath="+fifo) },
		"in what is named": func(f *fixture, w, fifo string) { f.write(w, ".git/more", "[include]\n\tpath = "+fifo) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.write(w, "b.txt", "b")
			head := f.commit(w, "work")
			f.write(w, "left.txt", "left")
			f.git(w, "config", "extensions.worktreeConfig", "true")
			f.git(w, "config", "include.path", "more")
			fifo := filepath.Join(t.TempDir(), "fifo")
			must.Do(t, syscall.Mkfifo(fifo, 0o600))
			agent(f, w, fifo)
			if r := f.publish(); r.Head != head || len(r.Lost) > 0 || !f.has("left.txt", "left") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against not publishing commits because the leftovers beside them can't be published.
func TestPublishGivesCommitsWithoutLeftovers(t *testing.T) {
	for name, agent := range map[string]func(*fixture, string){
		"no time": func(f *fixture, _ string) { f.job.leftTime = time.Nanosecond },
		"failure": func(f *fixture, _ string) { f.t.Setenv("TMPDIR", "/dev/null") },
		"more programs than can be switched off": func(f *fixture, w string) {
			var text strings.Builder
			for i := range maxPrograms + 1 {
				fmt.Fprintf(&text, "[filter \"f%d\"]\n\tclean = false\n", i)
			}
			f.write(w, ".git/more", text.String())
			f.git(w, "config", "include.path", "more")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.write(w, "b.txt", "b")
			head := f.commit(w, "work")
			f.write(w, "left.txt", "left")
			agent(f, w)
			r := f.publish()
			if r.Head != head || r.Bundle == nil || r.Wip != "" || !strings.Contains(strings.Join(r.Lost, "\n"), "uncommitted") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against a history that the agent has changed for git alone: the commits that it hides exist only here.
func TestPublishFollowsTheRealHistory(t *testing.T) {
	for name, bend := range map[string]func(f *fixture, w, head, side string){
		"grafts": func(f *fixture, w, head, side string) {
			f.write(w, ".git/info/grafts", head+" "+f.job.Base+" "+side+"\n")
		},
		"replacements": func(f *fixture, w, head, side string) { f.git(w, "replace", "--graft", head, f.job.Base, side) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.send()
			f.receive()
			w := f.job.Workspace
			f.git(w, "checkout", "-q", "-b", "side")
			f.write(w, "side.txt", "side")
			side := f.commit(w, "side")
			f.git(w, "checkout", "-q", "main")
			f.write(w, "b.txt", "b")
			bend(f, w, f.commit(w, "work"), side)
			if r := f.publish(); !f.has("side.txt", "side") || !f.has("b.txt", "b") || len(r.Lost) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against git asking a repository inside for its state, which it does without our configuration.
func TestPublishRunsNoProgramOfARepositoryInside(t *testing.T) {
	f := newFixture(t)
	f.send()
	f.receive()
	w := f.job.Workspace
	inner := filepath.Join(w, "inner")
	trap := filepath.Join(t.TempDir(), "trap")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho ran >> \"$0.ran\"\nexit 1\n"),
		0o700); err != nil { // a program
		t.Fatal(err)
	}
	must.Do(t, os.Mkdir(inner, 0o700))
	f.git(inner, "init", "-q")
	f.write(inner, "x", "x")
	f.commit(inner, "x")
	f.commit(w, "a repository inside")
	f.git(inner, "config", "filter.x.clean", trap)
	f.write(inner, ".git/info/attributes", "* filter=x\n")
	f.write(inner, "x", "y")
	f.write(w, "left.txt", "left")
	r := f.publish()
	if exists(trap+".ran") || !f.has("left.txt", "left") || strings.Join(r.Lost, "\n") != "the repository in inner" {
		t.Errorf("%+v, run: %v", r, exists(trap+".ran"))
	}
}
