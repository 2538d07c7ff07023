package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/paths"
)

// Resolver looks at one path of the file system and follows nothing. It is the only way in which a decision touches the
// world.
type Resolver interface {
	// Lookup says whether something may stand at a path, and what it holds if it is a link.
	Lookup(path string) (link string, there bool)
	// Writable says whether the user may write to what stands at a path.
	Writable(path string) bool
}

// place is where a path lies as the policy sees it.
type place uint8

const (
	outside   place = iota
	protected       // the guard's own, and agents' settings
	inside          // the workspace, scratch, caches, and devices that hold nothing
)

const maxLinks = 40

// terrain is a policy made ready for lookups.
type terrain struct {
	resolver  Resolver
	seen      map[string]string // what the resolver said; asking it is what costs most
	host      string
	users     []string // the host and the user's home, which are never the system's
	own       []string // the workspace, and its resolved form
	free      []string // scratch and caches
	protected []string
}

// missing is what is remembered of a path at which nothing stands. No link holds it.
const missing = "\x00"

// newTerrain resolves the workspace and the host. The other roots are taken
// as they stand: the maker of a policy names them in every form that counts.
func newTerrain(p Policy, r Resolver) *terrain {
	t := &terrain{resolver: r, seen: map[string]string{}, own: []string{path.Clean(p.Workspace)},
		free: slices.Concat(p.Scratch, p.Caches)}
	if resolved := t.resolve(p.Workspace); resolved != t.own[0] {
		t.own = append(t.own, resolved)
	}
	if p.Host != "" {
		t.host = t.resolve(p.Host)
		t.users = append(t.users, t.host)
	}
	names, inHome := roster.Settings()
	t.protected = slices.Clone(p.Protected)
	for _, root := range t.own {
		t.protect(root, names)
		if p.Linked() {
			t.protect(root, []string{".git"}) // which ties it to its repository
		}
	}
	if p.Home != "" {
		home := path.Clean(p.Home)
		t.users = append(t.users, home)
		t.protect(home, slices.Concat(names, inHome, []string{".config/cco", ".local/share/cco"})) // which are our own
	}
	return t
}

// protect guards names, all of them clean, as they lie below root.
func (t *terrain) protect(root string, names []string) {
	for _, name := range names {
		t.protected = append(t.protected, strings.TrimSuffix(root, "/")+"/"+name)
	}
}

// lookup asks the resolver once for each path: for the link there, "" for anything else, or missing.
func (t *terrain) lookup(name string) string {
	if t.resolver == nil || strings.ContainsAny(name, hole+"*?") {
		return ""
	}
	link, ok := t.seen[name]
	if !ok {
		if link, ok = t.resolver.Lookup(name); !ok {
			link = missing
		}
		t.seen[name] = link
	}
	return link
}

// resolve follows links on the longest part of name that exists, the way the
// kernel does: a ".." after a link leaves the link's target.
func (t *terrain) resolve(name string) string {
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
		case listed("/dev/fd /dev/tcp /dev/udp", next) || isDevice(next):
			done = next // these are links to whatever the guard itself has open
			continue
		}
		link := t.lookup(next)
		switch {
		case link == missing:
			return path.Join(next, path.Join(rest...)) // nothing below it can be a link
		case link == "":
			done = next
			continue
		case path.IsAbs(link):
			done = "/"
		}
		if links++; links > maxLinks {
			return "/" + hole // a loop leads nowhere that is ours
		}
		rest = append(strings.Split(link, "/"), rest...)
	}
	return done
}

// resolveName follows links in all but the last part: what removing a name acts on.
func (t *terrain) resolveName(name string) string {
	dir, base := path.Split(name)
	if base == "" || base == "." || base == ".." {
		return t.resolve(name)
	}
	return path.Join(t.resolve(dir), base)
}

// place says where an absolute, resolved path lies.
func (t *terrain) place(name string) place {
	switch {
	case t.isProtected(name, false):
		return protected
	case withinAny(name, t.own):
		return inside
	case t.host != "" && paths.Within(name, t.host):
		return outside
	case isDevice(name) || withinAny(name, t.free):
		return inside
	}
	return outside
}

// isProtected says whether name is guarded or lies below what is. With above, a directory on the way to it counts too,
// because removing or moving it takes what is guarded with it. Case is ignored, since some file systems do.
func (t *terrain) isProtected(name string, above bool) bool {
	return slices.ContainsFunc(t.protected, func(p string) bool {
		return foldedWithin(name, p) || above && foldedWithin(p, name)
	})
}

// isName says of a path outside that it begins with a directory which is not there, or with a
// pattern: it is a route or some other name.
func (t *terrain) isName(abs string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(abs, "/"), "/")
	return first != "" && (strings.ContainsAny(first, "*?") || t.lookup("/"+first) == missing)
}

// heldAnyway says that the user has no right to write at a path, or where it would be made: the kernel holds it.
func (t *terrain) heldAnyway(abs string) bool {
	if t.resolver == nil {
		return false
	}
	for abs != "/" && (strings.ContainsAny(abs, hole+"*?") || t.lookup(abs) == missing) {
		abs = path.Dir(abs)
	}
	return !t.resolver.Writable(abs)
}

// foldedWithin is paths.Within without regard to case.
func foldedWithin(name, root string) bool {
	n := len(root)
	return len(name) >= n && (len(name) == n || name[n] == '/' || root == "/") && strings.EqualFold(name[:n], root)
}

func withinAny(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool { return paths.Within(name, root) })
}

// isDevice names the devices and descriptors that hold nothing.
func isDevice(name string) bool {
	return listed("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/stdin /dev/stdout /dev/stderr "+
		"/dev/ptmx", name) || listed("/dev/fd /dev/pts /proc/self/fd /dev/tcp /dev/udp", path.Dir(name))
}
