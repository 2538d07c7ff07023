package session

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
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
	if files, err := s.save(t.Context(), b, afar{says: "half", err: ended}, store.Session{ID: "0a1b2c3e"}, broken, 0); !errors.Is(err, ended) || len(files) != 0 {
		t.Errorf("%v, %v", files, err)
	}
	left, err := os.ReadDir(s.Data + "/graveyard")
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
