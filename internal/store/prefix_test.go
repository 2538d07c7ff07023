package store

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestAnIDIsFoundByItsBeginning(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "cco.db"))
	for _, id := range []string{"3f9c01aa", "3f9c01ab", "3e000000", "00000000"} {
		must.Do(t, s.AddSession(t.Context(), sample(id)))
	}
	for begun, want := range map[string]string{"3f9c01aa": "3f9c01aa", "3e": "3e000000", "0": "00000000"} {
		if got, err := s.SessionID(t.Context(), begun); got != want || err != nil {
			t.Errorf("%s: %s, %v", begun, got, err)
		}
	}
	_, err := s.SessionID(t.Context(), "3f9c")
	if several, ok := errors.AsType[*AmbiguousError](err); !ok || len(several.IDs) != 2 {
		t.Errorf("several begin so: %v", err)
	}
	for _, odd := range []string{"f", "%", "_", "3f9c01aaa"} {
		if _, err := s.SessionID(t.Context(), odd); !as[*NotFoundError](err) {
			t.Errorf("%s: %v", odd, err)
		}
	}
	if _, err := s.PhaseID(t.Context(), "3"); !as[*PhaseNotFoundError](err) {
		t.Errorf("no phase begins so: %v", err)
	}
}

func as[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
