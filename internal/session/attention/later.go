package attention

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/whole"
)

// laterFile has what the user has put off, by its id, as it was then.
func (d Desk) laterFile() string { return filepath.Join(d.Data, "later.json") }

// mark is what must not change for a need to stay hidden.
func (n Need) mark() string {
	return string(n.Kind) + " " + strconv.FormatInt(n.Since.UnixMilli(), 10) + " " + n.Words
}

// readLater reads what is put off. What can't be read hides nothing.
func (d Desk) readLater() (marks map[string]string) {
	data, err := os.ReadFile(d.laterFile())
	if err != nil || json.Unmarshal(data, &marks) != nil {
		return nil
	}
	return marks
}

// Later hides a session or a phase that waits, by its id or the beginning of it, until something about it changes.
func (d Desk) Later(ctx context.Context, word string) (id string, err error) {
	needs, err := d.Needs(ctx)
	if err != nil {
		return "", err
	}
	needs = slices.DeleteFunc(needs, func(n Need) bool { return !strings.HasPrefix(n.ID, word) })
	if word == "" || len(needs) != 1 {
		if id, err = d.Resolve(ctx, word); err != nil {
			return "", err
		}
		rec, err := d.Get(ctx, id)
		if err != nil {
			return "", err
		}
		return "", &session.StateError{ID: id, State: rec.State,
			Why: "it is not listed: it needs nothing of you, or was put off before"}
	}
	marks := map[string]string{}
	for other, mark := range d.readLater() {
		_, isPhase := d.Store.Phase(ctx, other)
		if _, err := os.Stat(d.Dir(other)); err == nil || isPhase == nil { // what is gone needs no mark
			marks[other] = mark
		}
	}
	id = needs[0].ID
	marks[id] = needs[0].mark()
	data, err := json.Marshal(marks)
	if err != nil {
		return "", err
	}
	return id, whole.Write(d.laterFile(), data, 0o600)
}
