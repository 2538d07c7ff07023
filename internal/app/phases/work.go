package phases

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/whole"
)

// workerFile keeps the name of this machine as a worker.
const workerFile = "worker.id"

// workerID is the name that was drawn for this machine as a worker. It stays as long as the data directory, and its end
// is of the machine: a copy of the disk has another name.
func (a *Phases) workerID(draw bool) (string, error) {
	file := filepath.Join(a.Dirs.Data, workerFile)
	data, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	end := a.machineID()[:4]
	if id := strings.TrimSpace(string(data)); strings.HasSuffix(id, end) {
		return id, nil
	}
	if !draw {
		return "", nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Trim(regexp.MustCompile(`[^0-9a-z-]+`).ReplaceAllString(host, "-"), "-")
	id := strings.TrimLeft(host[:min(len(host), 40)]+"-"+end, "-")
	return id, errors.Join(os.MkdirAll(a.Dirs.Data, 0o700), whole.Write(file, []byte(id+"\n"), 0o600))
}

const unshared = "phases are on this machine alone: set engine.temporal to share them (see docs/machines.md)"

// Work runs phases of the service on this machine until the context ends.
func (a *Phases) Work(ctx context.Context) error {
	if c, err := a.cluster(); err != nil || c == nil {
		return cmp.Or(err, error(&StateError{Why: unshared}))
	}
	return a.Serve(ctx, 0, "")
}

// nameOf is how phases name a repository: by its path, or where they are shared by its address.
func (a *Phases) nameOf(ctx context.Context, path string) string {
	s := cruise.Spec{Repo: path}
	c, _ := a.cluster() // whoever needs it is told what is wrong with it
	if c != nil && onForge(ctx, &s) == nil {
		return s.Remote
	}
	return path
}

// onForge gives a spec the address of its repository, by which any machine finds it.
func onForge(ctx context.Context, s *cruise.Spec) error {
	remote, err := locate(ctx, s.Repo)
	if err != nil {
		return err
	}
	if remote.Plain() {
		return app.Usagef("%s is reached over http, which anybody on the way can read: no worker takes such a phase",
			remote)
	}
	s.Remote = address(remote)
	return nil
}

// address is that of a repository as all machines write it.
func address(r forge.Remote) string { return r.Base() + "/" + r.Owner + "/" + r.Name + ".git" }
