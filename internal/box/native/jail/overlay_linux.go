package jail

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/paths"
)

// A unix socket is found by its inode, even on read-only mounts and across all namespaces. An overlay has its own
// inodes: in it the names of the host's sockets and FIFOs, present and future, lead nowhere.

// overlaid says whether a mount is shown through an overlay, if possible.
func (m Mount) overlaid() bool { return m.Layer != "" || m.Host && !m.File && !m.Write }

// openLayers opens the directories of layers, by the mounts' places, while their names still lead to them.
func (p *Plan) openLayers() (map[int][2]int, error) {
	layers := map[int][2]int{}
	for i, m := range p.Mounts {
		if m.Layer == "" {
			continue
		}
		var fds [2]int
		for j, name := range []string{"/upper", "/work"} {
			fd, err := unix.Open(m.Layer+name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err != nil {
				return nil, step("open "+m.Layer+name, err)
			}
			fds[j] = fd
		}
		layers[i] = fds
	}
	return layers, nil
}

// openSource opens the source of a mount. The overlay is made later, when there is an empty directory for it. A copy
// needs no clone: for one that is dropped, the kernel waits for all cores.
func openSource(m Mount) (int, error) {
	if m.overlaid() || m.Copy {
		return unix.Open(m.Source, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	return OpenTree(m)
}

// top is a directory of which several parts are shown. One overlay serves all of them: making and removing one costs
// more than starting a program.
type top struct {
	dir   string
	parts []int // of Plan.Mounts
	fd    int
}

// tops finds the common parents of directories: the outermost one, and below it each of its directories with several
// parts, in case the box's user may not enter the outermost. A directory that stands alone has no top.
func tops(mounts []Mount) []*top {
	list := outermost(mounts)
	for _, t := range slices.Clone(list) {
		below := map[string]*top{}
		for _, i := range t.parts {
			first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(path.Clean(mounts[i].Source), t.dir), "/"), "/")
			if below[first] == nil {
				below[first] = &top{dir: path.Join(t.dir, first), fd: -1}
				list = append(list, below[first])
			}
			below[first].parts = append(below[first].parts, i)
		}
	}
	return slices.DeleteFunc(list, func(t *top) bool { return len(t.parts) < 2 })
}

func outermost(mounts []Mount) []*top {
	var list []*top
	for i, m := range mounts {
		if !m.overlaid() || m.Layer != "" {
			continue
		}
		at := slices.IndexFunc(list, func(t *top) bool { return common(t.dir, m.Source) != "/" })
		if at < 0 {
			list = append(list, &top{dir: path.Clean(m.Source), parts: []int{i}, fd: -1})
			continue
		}
		list[at].dir = common(list[at].dir, m.Source)
		list[at].parts = append(list[at].parts, i)
	}
	return slices.DeleteFunc(list, func(t *top) bool { return len(t.parts) < 2 })
}

// common is the deepest directory that holds both.
func common(a, b string) string {
	for !paths.Within(b, a) {
		a = path.Dir(a)
	}
	return a
}

// openTops opens the tops while we still are the starter's user. It skips a top that can't be opened.
func (p *Plan) openTops() []*top {
	list := tops(p.Mounts)
	for _, t := range list {
		if fd, err := unix.Open(t.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
			t.fd = fd
		}
	}
	return list
}

// layOver turns the opened directories of the host into overlays, or into clones if that fails. It works while they are
// still mounted in our namespace, and as the box's user: an overlay can be read only if its maker may read what it
// shows.
func (p *Plan) layOver(trees []int, layers map[int][2]int, tops []*top, empty string, res *Result) error {
	done := make([]bool, len(trees))
	for _, t := range tops {
		t.parts = slices.DeleteFunc(t.parts, func(i int) bool { return done[i] })
		if t.fd >= 0 && len(t.parts) > 0 {
			p.layTop(t, trees, empty, done)
		}
		if t.fd >= 0 {
			_ = unix.Close(t.fd)
		}
	}
	for i, m := range p.Mounts {
		if !m.overlaid() || done[i] || trees[i] < 0 {
			continue
		}
		dir := trees[i]
		if m.Layer != "" {
			tree, err := layered(dir, layers[i])
			_ = unix.Close(dir)
			if err != nil {
				return &missing{"layers over directories of yours", step("layer over "+m.Source, err)}
			}
			trees[i] = tree
			continue
		}
		tree, err := overlay(dir, empty)
		if err != nil {
			res.Bare = append(res.Bare, m.Target)
			res.BareWhy = err.Error()
			tree, err = cloneTree(dir, "", unix.AT_EMPTY_PATH, m)
		}
		_ = unix.Close(dir)
		if err != nil {
			return step("open "+m.Source, err)
		}
		trees[i] = tree
	}
	return nil
}

// layTop takes the parts of one top from its overlay. Parts that are not available there get an overlay of their own:
// something may be mounted below the top, or the box's user may not enter it.
func (p *Plan) layTop(t *top, trees []int, empty string, done []bool) {
	if unix.Faccessat(t.fd, ".", unix.X_OK, 0) != nil {
		return
	}
	tree, err := overlay(t.fd, empty)
	if err != nil {
		return
	}
	defer closeFD(tree)
	// Older kernels clone only trees that are mounted somewhere. This mount goes away with the host's root.
	if err := unix.MoveMount(tree, "", t.fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return
	}
	for _, i := range t.parts {
		rel := strings.TrimPrefix(strings.TrimPrefix(path.Clean(p.Mounts[i].Source), t.dir), "/")
		if rel == "" {
			rel = "."
		}
		dir, err := beneath(tree, rel)
		if err != nil {
			continue
		}
		part, err := unix.OpenTree(dir, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
		_ = unix.Close(dir)
		if err != nil {
			continue
		}
		_ = unix.Close(trees[i])
		trees[i], done[i] = part, true
	}
}

// overlay shows a directory on top of an empty one. It names the directory by its descriptor: its path may be too long,
// or contain the kernel's separator.
func overlay(dir int, empty string) (int, error) {
	return makeOverlay(unix.MOUNT_ATTR_RDONLY, [2]string{"lowerdir", byFD(dir) + ":" + empty})
}

// layered shows a directory below a layer that is written to.
func layered(dir int, layer [2]int) (int, error) {
	defer closeFD(layer[0])
	defer closeFD(layer[1])
	return makeOverlay(0, [2]string{"lowerdir", byFD(dir)}, [2]string{"upperdir", byFD(layer[0])},
		[2]string{"workdir", byFD(layer[1])})
}

func byFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func makeOverlay(attr int, options ...[2]string) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer closeFD(fs)
	for _, o := range options {
		if err := unix.FsconfigSetString(fs, o[0], o[1]); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return -1, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}

// coverSockets covers the known sockets with something else, where a directory of the host is shown unchanged.
func (p *Plan) coverSockets(root int, res *Result) error {
	for _, m := range p.Mounts {
		bare := m.Host && !m.File && (m.Write || slices.Contains(res.Bare, m.Target))
		for _, socket := range p.Sockets {
			rel, below := strings.CutPrefix(socket, strings.TrimSuffix(m.Source, "/")+"/")
			if !bare || !below {
				continue
			}
			nothing := Mount{Source: "/dev/null", Target: path.Join(m.Target, rel), File: true, Device: true}
			tree, err := OpenTree(nothing)
			if err == nil {
				err = coverItself(root, tree, nothing)
			}
			// A user who may not even look there can't connect either.
			if err != nil && !errors.Is(err, unix.EACCES) {
				return step("cover "+nothing.Target, err)
			}
		}
	}
	return nil
}
