package boxtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/paths"
)

// held shows that the guard's hook is told where the kernel holds, and that programs can't change what it is told.
// Where nothing holds, a program sees what this one sees.
func held(s *suite) {
	s.session(one)
	const tries = `for try in 'umount -l AT' 'mount -t tmpfs x AT' 'mount -o remount,rw AT' 'rmdir AT' ` +
		`'mv AT /run/cco/x' 'touch AT/x' 'unshare -Urm mount -t tmpfs x AT'; do
	$(echo "$try" | sed "s,AT,$1,") 2> /dev/null && echo "GOT THROUGH: $try"
done; `
	const sees = `grep -c " $1 ro," /proc/self/mountinfo; :`
	if slices.Contains(s.Lacks, Held) {
		table, _ := os.ReadFile("/proc/self/mountinfo") // other systems have none
		want := strings.Count(string(table), " "+paths.Held+" ro,")
		wantText(s.T, s.out(sh(one, sees, paths.Held)), strconv.Itoa(want))
		return
	}
	wantText(s.T, s.out(sh(one, tries+sees, paths.Held)), "1")
}

func readOnly(s *suite) {
	s.session(one)
	s.out(sh(one, `echo text > file`))
	e := sh(one, `cat file; touch new || echo new; echo x >> file || echo append; rm -f file || echo rm; chmod 777 . || `+
		`echo chmod`)
	e.ReadOnly = true
	stdout, _, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "text\nnew\nappend\nrm\nchmod")
	wantText(s.T, s.out(sh(one, `cat file; ls -d file new 2> /dev/null; :`)), "text\nfile")
}

func views(s *suite) {
	place := s.session(one)
	s.out(sh(one, `echo text > file`))
	s.session(two)
	e := sh(two, `cd "$1"; cat file; touch new || echo new; echo x >> file || echo append; rm -f file || echo rm`,
		place.Workspace)
	e.View = one
	stdout, _, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "text\nnew\nappend\nrm")
	wantText(s.T, s.out(sh(one, `echo more > file2; ls`)), "file\nfile2")
	// A reader's git finds what the repository that it looks at borrows.
	fill := sh(one, `echo object > "$1/object"`, place.Store)
	fill.Repo, fill.Fill = "repo-1", true
	s.out(fill)
	reads := sh(two, `cat "$1/object"; touch "$1/new" || echo kept`, place.Store)
	reads.View, reads.Repo = one, "repo-1"
	wantText(s.T, s.out(reads), "object\nkept")
	for _, bad := range []string{"..", "a/b", "../../home", "."} {
		e.View = bad
		if _, _, err := s.run(e); err == nil {
			s.Errorf("there is a session %q", bad)
		}
	}
}

func store(s *suite) {
	place := s.session(one)
	fill := sh(one, `echo object > "$1/object"`, place.Store)
	fill.Repo, fill.Fill = "repo-1", true
	s.out(fill)
	for _, id := range []string{one, two} {
		e := sh(id, `cat "$1/object"; touch "$1/new" || echo kept; rm -f "$1/object" || echo kept`, s.session(id).Store)
		e.Repo = "repo-1"
		stdout, _, err := s.run(e)
		s.must(err)
		wantText(s.T, stdout, "object\nkept\nkept")
	}
	other := sh(one, `ls -A "$1"`, place.Store)
	other.Repo = "repo-2"
	wantText(s.T, s.out(other), "")
	if _, _, err := s.run(sh(one, `cat "$1/object"`, place.Store)); err == nil {
		s.Error("a store is there that nobody asked for")
	}
	for _, bad := range []string{"..", "a/b", "../../home", "."} {
		e := sh(one, `:`)
		e.Repo = bad
		if _, _, err := s.run(e); err == nil {
			s.Errorf("there is a repository %q", bad)
		}
	}
}

// ownSteps shows that cco's own steps ignore the agent's home and everybody's environment.
func ownSteps(s *suite) {
	place := s.session(one)
	s.out(sh(one, `mkdir -p "$1/.local/bin" && cd "$1" && printf '[user]\n\tname = evil\n' > .gitconfig
for p in git sh ls; do printf '#!/bin/sh\necho evil\n' > .local/bin/$p && chmod +x .local/bin/$p; done`, place.Home))
	s.box.Spec.Env = []string{"PATH=" + place.Home + "/.local/bin:/usr/bin:/bin", "LEAK=evil", "HOME=" + place.Home,
		"GIT_EDITOR=evil"}
	own := sh(one, `env; cd /; git config --get user.name || echo no name; ls -d /`)
	own.Own = true
	got := s.out(own)
	for _, bad := range []string{"evil", place.Home} {
		if strings.Contains(got, bad) {
			s.Errorf("it heeds %q:\n%s", bad, got)
		}
	}
	for _, want := range []string{"no name\n/", "HOME=/var/empty\n", ":/usr/bin:", "CCO_SESSION=" + one + "\n"} {
		if !strings.Contains(got, want) {
			s.Errorf("no %q in:\n%s", want, got)
		}
	}
	// Files that an agent needs can still be put into its home.
	put := sh(one, `echo put > "$1/put"; cat "$1/put"; env | grep -c evil`, place.Home)
	put.Furnish = true
	stdout, _, _ := s.run(put)
	wantText(s.T, stdout, "put\n0")
}

func etc(s *suite) {
	s.session(one)
	e := sh(one, `cat /etc/cco/policy.json; echo x > /etc/cco/policy.json || echo kept; rm -f /etc/cco/policy.json || `+
		`echo kept; mv /etc/cco /tmp/x || echo kept`)
	e.Etc = []box.File{{Path: "cco/policy.json", Data: []byte("{}\n"), Mode: 0o644}}
	stdout, _, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "{}\nkept\nkept\nkept")
	e.Etc = []box.File{{Path: "../evil", Data: []byte("x")}}
	if _, _, err := s.run(e); err == nil {
		s.Error("a file was put outside of /etc")
	}
}

// binds shows one directory that cco keeps beside its boxes, such as an installed agent, and nothing else of it.
func binds(s *suite) {
	place := s.session(one)
	agents := filepath.Join(filepath.Dir(s.box.Exchange), "agents")
	tool, other := filepath.Join(agents, "tool", "1.0"), filepath.Join(agents, "other")
	for _, dir := range []string{filepath.Join(tool, "bin"), other} {
		s.must(os.MkdirAll(dir, 0o755))
	}
	must.Program(s.T, filepath.Join(tool, "bin", "tool"), "#!/bin/sh\necho it runs\n")
	e := sh(one, `"$1/bin/tool"; touch "$1/new" || echo kept; rm -f "$1/bin/tool" || echo kept; mv "$1/bin" "$1/x" || `+
		`echo kept; ls "$2" || echo hidden`, tool, other)
	e.Binds = []box.Bind{{Path: tool}}
	stdout, _, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "it runs\nkept\nkept\nkept\nhidden")
	if _, _, err := s.run(sh(one, `ls "$1"`, tool)); err == nil {
		s.Error("it is visible to a program that did not ask for it")
	}
	link := filepath.Join(agents, "link")
	s.must(os.Symlink(s.box.Dir, link))
	for _, bad := range []string{
		"/", "/proc", "/etc", "/dev/shm", "relative", tool + "/../1.0", filepath.Join(agents, "missing"),
		filepath.Join(tool, "bin", "tool"),
		filepath.Dir(s.box.Exchange), s.box.Exchange, s.box.Dir, filepath.Join(s.box.Exchange, one), link, place.Exchange,
	} {
		e := sh(one, `:`)
		e.Binds = []box.Bind{{Path: bad}}
		if _, _, err := s.run(e); err == nil {
			s.Errorf("%s is shown", bad)
		}
	}
}

func exchange(s *suite) {
	place := s.session(one)
	s.must(os.WriteFile(s.host(one, "in"), []byte("from the host\n"), 0o644))
	wantText(s.T, s.out(sh(one, `cat "$1/in"; echo "from the box" > "$1/out"; mkdir "$1/dir"; mv "$1/out" "$1/dir/"`,
		place.Exchange)), "from the host")
	text, err := os.ReadFile(s.host(one, "dir/out"))
	s.must(err)
	wantText(s.T, string(text), "from the box")
}

func apart(s *suite) {
	first, second := s.session(one), s.session(two)
	// A home that isn't the session's own may be unwritable.
	s.out(sh(one, `echo secret | tee file "$1/file"; ( echo secret > "$HOME/file" ) 2> /dev/null; :`, first.Exchange))
	for _, id := range []string{two, ""} {
		_ = second
		stdout, _, _ := s.run(sh(id, `cat "$1/file" "$2/file" "$3/file"; ls -d "$1" "$2"; find / -name file -path '*`+one+
			`*'; echo done`,
			first.Workspace, first.Exchange, first.Home))
		wantText(s.T, stdout, "done")
	}
}

// background leaves a child that keeps the output open: neither may outlive the run or hold it up.
func background(s *suite) {
	place := s.session(one)
	s.out(sh(one, `( `+heart+` ) & until [ -s "$1" ]; do sleep 0.01; done`, place.Exchange+"/beat"))
	s.wantStopped(s.host(one, "beat"))
}

// daemons leave their group, their session and their parent.
func daemons(s *suite) {
	place := s.session(one)
	s.out(sh(one, `setsid sh -c 'setsid sh -c "$0" x "$1" & exit 0' "$2" "$1" < /dev/null > /dev/null 2>&1
		until [ -s "$1" ]; do sleep 0.01; done`, place.Exchange+"/beat", `trap "" TERM HUP INT; `+heart))
	s.wantStopped(s.host(one, "beat"))
}

// memoryLimit fills memory in one process. Only that process is killed; the program that started it, and the box, stay.
// Memory behind a descriptor, or of no process, counts as well.
func memoryLimit(s *suite) {
	place := s.session(one)
	for _, kind := range []string{"memfd", "segment"} {
		e := box.Exec{Session: one, Argv: []string{place.Tool, "probe", "eat", "900", kind},
			Limits: box.Limits{Memory: 200 << 20}}
		if _, _, err := s.run(e); err == nil {
			s.Errorf("900 MB of %s under a limit of 200", kind)
		}
	}
	// Nothing more comes for a while, in which it holds everything: a watchdog may look late.
	e := sh(one, `{ head -c 2000000000 /dev/zero && sleep 3; } | tail > /dev/null; echo "ended with $?"`)
	e.Limits.Memory = 200 << 20
	stdout, _, err := s.run(e)
	s.must(err)
	wantText(s.T, stdout, "ended with 137")
	wantText(s.T, s.out(sh(one, `echo fine`)), "fine")
}

func processLimit(s *suite) {
	place := s.session(one)
	e := sh(one, `i=0; while [ $i -lt 500 ]; do sleep 1000 & i=$((i+1)); echo $i > "$1/count"; done; echo unbounded`,
		place.Exchange)
	e.Limits.Procs = 50
	stdout, _, err := s.run(e)
	if err == nil || strings.Contains(stdout, "unbounded") {
		s.Errorf("it started 500 processes: %v", err)
	}
	text, err := os.ReadFile(s.host(one, "count"))
	s.must(err)
	if n, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n < 5 || n > 90 {
		s.Errorf("%q processes were started under a limit of 50", text)
	}
	wantText(s.T, s.out(sh(one, `echo fine`)), "fine")
}
