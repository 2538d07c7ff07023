package store

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestPhasesAreKeptAndFoundByBranch(t *testing.T) {
	ctx := t.Context()
	s := must.Get(Open(ctx, filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = s.Close() }()
	at := time.UnixMilli(1_800_000_000_000)
	for i, p := range []Phase{
		{ID: "00000001", Ended: true, Created: at.Add(2 * time.Hour)}, {ID: "00000002", Created: at},
		{ID: "00000003", Created: at.Add(time.Hour)},
		{ID: "00000003", Created: at.Add(9 * time.Hour), Stage: "ended", Cost: 2.5},
	} {
		p.Repo, p.Branch, p.Kind = "/r", "add-a-flag", "planning"
		p.Updated, p.State = at.Add(time.Duration(i)*time.Minute), json.RawMessage(`{"round":1}`)
		must.Do(t, s.SavePhase(ctx, p))
	}
	p, err := s.PhaseOf(ctx, "/r", "add-a-flag")
	if err != nil || p.ID != "00000003" || p.Cost != 2.5 || string(p.State) != `{"round":1}` ||
		!p.Created.Equal(at.Add(time.Hour)) {
		t.Errorf("%+v, %v", p, err)
	}
	list, err := s.Phases(ctx, 10)
	if err != nil || len(list) != 3 || list[0].ID != "00000003" || list[2].ID != "00000001" {
		t.Errorf("%+v, %v", list, err)
	}
	must.Do(t, s.RemovePhase(ctx, "00000003"))
	_, err = s.Phase(ctx, "00000003")
	if _, ok := errors.AsType[*PhaseNotFoundError](err); !ok {
		t.Errorf("err = %v", err)
	}
}
