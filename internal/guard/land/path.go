// Package land says where a path lies as a policy sees it. It touches the world through a Resolver alone.
package land

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/paths"
)

// Entry is what stands at a path, without following links.
type Entry uint8

// The kinds of entries that a Resolver can tell apart.
const (
	EntryUnknown Entry = iota // the resolver can't tell
	EntryMissing
	EntryLink
	EntryDir
	EntryFile
)

// Resolver looks at one path of the file system and follows nothing. For a link it also returns what the link holds. It
// is the only way in which a decision touches the world.
type Resolver interface {
	Lookup(path string) (Entry, string)
}

// Place is where a path lies as the policy sees it.
type Place uint8

// The places, those that may not be written first.
const (
	Outside Place = iota
	Host
	Unknown   // can't be told beforehand
	Protected // the guard's own
	Git       // the workspace's .git, which only git itself may write
	System    // outside, in a tree of the system's own programs and headers
	Workspace
	Scratch
	placeDevice
)

// Op is what a command does to a path.
type Op uint8

// The operations.
const (
	Write    Op = iota // makes or changes it
	Redirect           // writes it by a redirection
	Remove             // removes or moves it, with all below
	LinkTo             // makes a link to it
)

// Writable says whether an agent may write there.
func (p Place) Writable() bool { return p >= Workspace }

// Hole and star stand in a path for text that is not known: hole for one name or more, star for what a pattern matches,
// which never begins with a dot.
const (
	Hole = "\x01"
	Star = "\x02"
)

const maxLinks = 40

// Terrain is a policy made ready for lookups: every root resolved.
type Terrain struct {
	resolver  Resolver
	seen      map[string]found // what the resolver said; asking it is what costs most
	Workspace string
	Host      string
	Home      string
	Own       []string // workspace and its resolved form
	scratch   []string
	Protected []string
	gitFile   []string // .git of the workspace; nil in a private clone
}

type found struct {
	entry  Entry
	target string
}

// Lookup asks the resolver once for each path.
func (t *Terrain) Lookup(name string) (Entry, string) {
	if t.resolver == nil || strings.ContainsAny(name, Hole+Star) {
		return EntryUnknown, ""
	}
	f, ok := t.seen[name]
	if !ok {
		f.entry, f.target = t.resolver.Lookup(name)
		t.seen[name] = f
	}
	return f.entry, f.target
}

// Expect makes known what will stand at a path.
func (t *Terrain) Expect(name string, e Entry, target string) { t.seen[name] = found{e, target} }

// New resolves the workspace and the host. The other roots are taken
// as they stand: the maker of a policy names them in every form that counts.
func New(p Policy, r Resolver) *Terrain {
	t := &Terrain{resolver: r, seen: map[string]found{}, Workspace: path.Clean(p.Workspace)}
	t.Own = []string{t.Workspace}
	if resolved := t.Resolve(p.Workspace); resolved != t.Workspace {
		t.Own = append(t.Own, resolved)
	}
	if p.Host != "" {
		t.Host = t.Resolve(p.Host)
	}
	if p.Home != "" {
		t.Home = path.Clean(p.Home)
	}
	t.scratch = slices.Concat(p.Scratch, p.Caches)
	names, inHome := roster.Settings()
	t.Protected = slices.Grow(slices.Clone(p.Protected), (len(t.Own)+1)*len(names)+len(inHome)+2)
	for _, root := range t.Own {
		t.protect(root, names)
		if p.Linked {
			t.gitFile = append(t.gitFile, path.Join(root, ".git"))
		}
	}
	if t.Home != "" {
		t.protect(t.Home, names)
		t.protect(t.Home, inHome)
		t.protect(t.Home, []string{".config/cco", ".local/share/cco"}) // our own
	}
	return t
}

// protect guards names, all of them clean, as they lie below root.
func (t *Terrain) protect(root string, names []string) {
	for _, name := range names {
		t.Protected = append(t.Protected, strings.TrimSuffix(root, "/")+"/"+name)
	}
}

// Resolve follows links on the longest part of name that exists, the way the
// kernel does: a ".." after a link leaves the link's target.
func (t *Terrain) Resolve(name string) string {
	if t.resolver == nil {
		return path.Clean(name)
	}
	done, rest, links := "/", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		next := strings.TrimSuffix(done, "/") + "/" + part // both are clean
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			done = path.Dir(done)
			continue
		case next == "/dev/fd" || IsDevice(next):
			done = next // these are links to whatever the guard itself has open
			continue
		}
		entry, target := t.Lookup(next)
		switch {
		case entry == EntryMissing:
			return path.Join(next, path.Join(rest...)) // nothing below it can be a link
		case entry != EntryLink:
			done = next
			continue
		case path.IsAbs(target):
			done = "/"
		}
		if links++; links > maxLinks {
			return "/" + Hole // a loop leads nowhere that is ours
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done
}

// ResolveParent follows links in all but the last part: what an operation on
// the name itself, such as removing it, would act on.
func (t *Terrain) ResolveParent(name string) string {
	dir, base := path.Split(name)
	if base == "" || base == "." || base == ".." {
		return t.Resolve(name)
	}
	return path.Join(t.Resolve(dir), base)
}

// Missing says that nothing stands at name for sure.
func (t *Terrain) Missing(name string) bool {
	entry, _ := t.Lookup(t.Resolve(name))
	return entry == EntryMissing
}

// IsFile says that a file or directory stands at name for sure.
func (t *Terrain) IsFile(name string) bool {
	entry, _ := t.Lookup(t.Resolve(name))
	return entry == EntryFile || entry == EntryDir
}

// Place classifies an absolute, resolved path.
func (t *Terrain) Place(name string) Place {
	switch {
	case t.IsProtected(name, false):
		return Protected
	case WithinAny(name, t.gitFile):
		return Git
	case WithinAny(name, t.Own):
		return Workspace
	case t.Host != "" && paths.Within(name, t.Host):
		return Host
	case IsDevice(name):
		return placeDevice
	case WithinAny(name, t.scratch):
		return Scratch
	case IsSystem(name):
		return System
	}
	return Outside
}

// IsProtected matches name, which may hold holes, against the guarded paths. With whole, a directory above a guarded
// path counts too, because removing or moving it takes the guarded path with it.
func (t *Terrain) IsProtected(name string, whole bool) bool {
	return slices.ContainsFunc(t.Protected, func(p string) bool { return coversPath(name, p, whole) })
}

// RemovesRoot says that removing name would take the workspace itself or its .git with it.
func (t *Terrain) RemovesRoot(name string) bool {
	return slices.ContainsFunc(t.gitFile, func(git string) bool { return coversPath(name, git, true) }) ||
		slices.ContainsFunc(t.Own, func(root string) bool { return paths.Within(root, name) }) ||
		slices.Contains(t.scratch, name)
}

// coversPath says whether name is guarded or lies below it; with above, also whether it is a directory on the way to
// guarded. Case is ignored, since some file systems do.
func coversPath(name, guarded string, above bool) bool {
	if !strings.Contains(name, Star) {
		return foldedWithin(name, guarded) || above && foldedWithin(guarded, name)
	}
	have, want := strings.Split(name, "/"), strings.Split(guarded, "/")
	if len(have) < len(want) && !above || len(have) > len(want) && strings.Contains(have[len(want)-1], Star) {
		return false // a pattern finds directories there, and that is a file
	}
	for i := range min(len(have), len(want)) {
		if !matchPart(have[i], want[i]) {
			return false
		}
	}
	return true
}

// matchPart matches one path part that may hold stars against a plain one. A
// hole matches nothing: listings are not taken for guarded files.
func matchPart(pattern, name string) bool {
	before, after, starred := strings.Cut(pattern, Star)
	if !starred {
		return strings.EqualFold(pattern, name)
	}
	if before == "" && strings.HasPrefix(name, ".") {
		return false
	}
	after = after[strings.LastIndex(after, Star)+1:]
	return len(name) >= len(before)+len(after) &&
		strings.EqualFold(name[:len(before)], before) &&
		strings.EqualFold(name[len(name)-len(after):], after)
}

// foldedWithin is paths.Within without regard to case.
func foldedWithin(name, root string) bool {
	n := len(root)
	return len(name) >= n && (len(name) == n || name[n] == '/' || root == "/") && strings.EqualFold(name[:n], root)
}

// WithinAny says whether name is or lies below one of roots.
func WithinAny(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return paths.Within(name, root) })
}

// IsDevice names the devices and descriptors that hold nothing.
func IsDevice(name string) bool {
	switch name {
	case "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
		"/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/ptmx", "/proc/self/fd":
		return true
	}
	return WithinAny(name, []string{"/dev/fd", "/dev/pts", "/proc/self/fd", "/dev/tcp", "/dev/udp"}) && name != "/dev/fd"
}

// IsSystem names the trees that an operating system installs into. Reading
// and running from there is what every build does.
func IsSystem(name string) bool {
	return WithinAny(name, []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libexec", "/etc", "/opt", "/nix", "/snap", "/proc",
		"/sys", "/System", "/Library", "/Applications", "/home/linuxbrew/.linuxbrew",
	})
}
