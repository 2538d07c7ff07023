package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// workedIn is a workspace with one commit of the agent's.
func workedIn(t *testing.T) (f *fixture, workspace, head string) {
	t.Helper()
	f = newFixture(t)
	f.send()
	f.receive()
	f.write(f.job.Workspace, "b.txt", "b")
	return f, f.job.Workspace, f.commit(f.job.Workspace, "work")
}

// setTrap makes a program that notes that it was run.
func setTrap(t *testing.T) string {
	t.Helper()
	trap := filepath.Join(t.TempDir(), "trap")
	must.Do(t, os.WriteFile(trap, []byte("#!/bin/sh\necho ran >> \"$0.ran\"\nexit 1\n"), 0o700)) // a program
	return trap
}

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
			f, w, head := workedIn(t)
			trap := setTrap(t)
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

// Guards against settings that take git so long, or break it so, that no commit comes back.
func TestPublishNeedsNoneOfTheSettings(t *testing.T) {
	for name, text := range map[string]string{
		"huge":            strings.Repeat("[a]\n\tb = c\n", 2_000_000),
		"many includes":   strings.Repeat("[include]\n\tpath = none\n", 100_000),
		"a circle":        strings.Repeat("[includeIf \"gitdir:/nowhere\"]\n\tpath = config\n", 2),
		"no settings":     "[bro ken\n",
		"a pipe":          "[include]\n\tpath = ../pipe\n",
		"what never ends": "[include]\n\tpath = ../../../../../../../../../../../../dev/zero\n",
	} {
		t.Run(name, func(t *testing.T) {
			f, w, head := workedIn(t)
			f.write(w, "left.txt", "left")
			must.Do(t, fifo(filepath.Join(w, "pipe")))
			config := filepath.Join(w, ".git/config")
			f.write(w, ".git/config", string(must.Get(os.ReadFile(config))(t))+text)
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
	} {
		t.Run(name, func(t *testing.T) {
			f, w, head := workedIn(t)
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
			f, w, head := workedIn(t)
			f.git(w, "checkout", "-q", "-b", "side", "HEAD^")
			f.write(w, "side.txt", "side")
			side := f.commit(w, "side")
			f.git(w, "checkout", "-q", "main")
			bend(f, w, head, side)
			f.job.All = true
			if r := f.publish(); !f.has("side.txt", "side") || !f.has("b.txt", "b") || len(r.Lost) > 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Guards against git asking a repository inside for its state, which it does without our configuration.
func TestPublishRunsNoProgramOfARepositoryInside(t *testing.T) {
	f, w, _ := workedIn(t)
	inner := filepath.Join(w, "inner")
	trap := setTrap(t)
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

// Guards against attributes that nobody sees and that change what is saved.
func TestAttributesOfTheRepositoryItselfChangeNothing(t *testing.T) {
	f, w, _ := workedIn(t)
	const text = "one\r\ntwo $Id: mine $\r\n"
	f.write(w, ".git/info/attributes", "* text ident eol=crlf\n")
	f.write(w, "left.txt", text)
	f.publish()
	if !f.has("left.txt", strings.TrimSpace(text)) {
		t.Error("it was saved as something else")
	}
}
