package hook

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/land"
)

// ReadFile reads a small file. A FIFO, which an agent may have put there, is empty.
func ReadFile(name string) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // only read
	data, err := readAll(descriptor(fd))
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

// Branch reads the branch that HEAD of a git directory is on; "" if none.
func Branch(gitDir string) string {
	head, _ := ReadFile(gitDir + "/HEAD")
	name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return name
}

// Links resolves links on the real file system.
type Links struct{}

// Lookup implements land.Resolver.
func (Links) Lookup(path string) (land.Entry, string) {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return land.EntryMissing, ""
	case err != nil:
		return land.EntryUnknown, ""
	case info.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return land.EntryUnknown, ""
		}
		return land.EntryLink, target
	case info.IsDir():
		return land.EntryDir, ""
	}
	return land.EntryFile, ""
}

// OnBranch tells a call which branch HEAD of a linked worktree is on, and whether that branch was made there.
func OnBranch(policy guard.Policy, call guard.Call) guard.Call {
	if !policy.Linked || policy.GitDir == "" {
		return call
	}
	call.Branch = Branch(policy.GitDir)
	call.MadeHere = call.Branch != "" && call.Branch != policy.Branch && policy.GitCommonDir != "" &&
		younger(policy.GitCommonDir+"/logs/refs/heads/"+call.Branch, policy.GitDir+"/logs/HEAD")
	return call
}

// younger says that what a reflog tells of began with nothing, and no earlier than what another one tells of. A branch
// that was there before the worktree is somebody else's.
func younger(log, than string) bool {
	old, made, ok := firstEntry(log)
	_, began, also := firstEntry(than)
	return ok && also && strings.Trim(old, "0") == "" && made >= began
}

// firstEntry reads the first line of a reflog: the commit before, and when it was written.
func firstEntry(name string) (old string, at int64, ok bool) {
	data, _ := ReadFile(name) // nothing, if it can't be read
	line, _, _ := strings.Cut(string(data), "\n")
	line, _, _ = strings.Cut(line, "\t")
	words := strings.Fields(line)
	if len(words) < 5 {
		return "", 0, false
	}
	at, err := strconv.ParseInt(words[len(words)-2], 10, 64)
	return words[0], at, err == nil
}

// stackRoom is more than reading and judging an ordinary call takes.
const stackRoom = 24 << 10

// grow makes room on the stack at once. Go doubles a stack that is too small and copies it each time, which walks every
// frame by tables that the hook would otherwise never page in: as much work as half a decision.
//
//go:noinline
func grow(touch bool) {
	if touch { // never: what counts is the size of this frame
		var room [stackRoom]byte
		use(&room)
	}
}

//go:noinline
func use(room *[stackRoom]byte) { room[0] = 1 }
