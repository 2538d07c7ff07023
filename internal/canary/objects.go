package canary

import (
	"context"
	"slices"

	"github.com/cco-dev/cco/internal/git/quarantine"
)

// objects finds loose objects that are not what their names say: git would take them for the user's. Objects from
// before the run are in packs by now, but not those that the user has made meanwhile.
func (c *comparison) objects(ctx context.Context) error {
	_, bad, err := quarantine.CheckLoose(ctx, c.repo)
	if err != nil {
		return err
	}
	for _, path := range bad[:min(len(bad), maxShown)] {
		if slices.Contains(c.shot.Bad, path) {
			continue
		}
		is, err := now(path)
		if err != nil {
			return err
		}
		if is == nil {
			continue
		}
		f := fileFinding(KindFile, label(c.shot.Common, path), path, nil, is)
		f.Words = f.What + " is not the object that its name says"
		c.add(f)
	}
	return nil
}
