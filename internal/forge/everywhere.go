package forge

import (
	"context"
	"strings"
	"time"
)

// elsewhere begins the keys of what another program of the same user has posted.
const elsewhere = "elsewhere-"

// Everywhere is a journal whose markers are made of what is said: every machine with the key finds what another has
// said without its log, and looks before it says anything.
type Everywhere struct{ Keyed }

// Begin keeps a record. It is never fresh: another machine may have begun it.
func (e Everywhere) Begin(ctx context.Context, r Record) (kept Record, fresh bool, err error) {
	if strings.HasPrefix(r.Key, elsewhere) {
		return e.Log.Begin(ctx, r)
	}
	r.Marker = e.Sum("what is said", strings.ToLower(r.Repo), r.Key)[:markerLen]
	if known, ok, err := e.ByMarker(ctx, r.Repo, r.Marker); err != nil || ok {
		return known, false, err
	}
	kept, fresh, err = e.Log.Begin(ctx, r)
	if fresh {
		kept.Created = time.Time{} // nothing was tried here, and whoever takes over has waited for what others tried
	}
	return kept, false, err
}
