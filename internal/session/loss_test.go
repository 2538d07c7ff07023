package session

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// afar is a machine that answers, or doesn't, when its workspace is asked for.
type afar struct {
	box.Driver
	says string
	err  error
}

func (a afar) Platform(context.Context, *box.Box) (goos, arch string, err error) {
	return "linux", "amd64", nil
}

func (a afar) Run(_ context.Context, _ *box.Box, e box.Exec) error {
	_, _ = io.WriteString(e.Stdout, a.says)
	return a.err
}

// Guards against losing, without a word, what is in a machine and could not be published.
func TestAWorkspaceInAMachineIsSavedOrStopsTheDestroying(t *testing.T) {
	s := &Service{Data: t.TempDir(), Now: time.Now}
	b := &box.Box{Name: "m", Dir: t.TempDir()}
	broken := stake{held: held{Failed: "no bundle could be made"}}
	files, err := s.save(t.Context(), b, afar{says: "a tar"}, store.Session{ID: "0a1b2c3d"}, broken, 0)
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != "a tar" {
		t.Errorf("%q, %v", text, err)
	}
	ended := errors.New("the connection has ended")
	if files, err := s.save(t.Context(), b, afar{says: "half", err: ended}, store.Session{ID: "0a1b2c3e"}, broken,
		0); !errors.Is(err, ended) || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
	left, err := os.ReadDir(s.Data + "/graveyard")
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// Guards against saving, or taking for saved, another file than the one that was published.
func TestOnlyTheBundleThatWasPublishedIsBuried(t *testing.T) {
	const id = "0a1b2c3d"
	s := &Service{Data: t.TempDir(), Now: time.Now, Boxes: &box.Boxes{Data: t.TempDir()}}
	for _, dir := range []string{s.Exchange(id), s.dir(id)} {
		must.Do(t, os.MkdirAll(dir, 0o700))
	}
	for _, name := range []string{inside.RestBundle, inside.OutputBundle} {
		must.Do(t, os.WriteFile(filepath.Join(s.Exchange(id), name), []byte("same"), 0o600))
	}
	sum := func(text string) *inside.Sum {
		return &inside.Sum{Size: int64(len(text)), SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	}
	for text, want := range map[string]bool{"same": true, "size": false} {
		if got := s.offered(t.Context(), id, held{Rest: sum(text)}); got != want {
			t.Errorf("%s: offered %v", text, got)
		}
		for i, k := range []stake{{held: held{Rest: sum(text)}}, {held: held{Head: "12", Bundle: sum(text)}, commits: true}} {
			s := *s
			s.Data = t.TempDir()
			must.Do(t, os.MkdirAll(s.dir(id), 0o700))
			files, err := s.save(t.Context(), &box.Box{Name: "m", Dir: t.TempDir()}, nil, store.Session{ID: id}, k, 100)
			if (len(files) == 1) != want || want && err != nil {
				t.Errorf("%s, %d: saved %v, %v", text, i, files, err)
			}
			if left, _ := os.ReadDir(s.Data + "/graveyard"); len(left) != len(files) {
				t.Errorf("%s, %d: %v is left", text, i, left)
			}
		}
	}
}
