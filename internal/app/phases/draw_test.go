package phases

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a phase that is given the id, or the workspace, of another.
func TestAPhaseIDThatIsKnownIsDrawnAgain(t *testing.T) {
	t.Parallel()
	st := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = st.Close() }()
	must.Do(t, st.SavePhase(t.Context(), store.Phase{ID: "0badcafe", Created: time.Now(), Updated: time.Now(),
		State: []byte("{}")}))
	must.Do(t, st.AddSession(t.Context(), store.Session{ID: steps.SessionOf("12345678"), State: store.Done,
		Created: time.Now()}))
	ids := []string{"0badcafe", "12345678", "0badcafe", "23456789"}
	id, err := drawPhase(t.Context(), st, func() string { id := ids[0]; ids = ids[1:]; return id })
	if err != nil || id != "23456789" {
		t.Errorf("%q, %v", id, err)
	}
	if id, err := drawPhase(t.Context(), st, func() string { return "0badcafe" }); err == nil {
		t.Errorf("%q, although it is taken", id)
	}
}
