package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// save puts what would go with a session's workspace into the graveyard: what is beside its branch, and where force was needed
// its work and, if that is not all, the workspace itself.
func (s *Service) save(ctx context.Context, b *box.Box, d box.Driver, v store.Session, k stake, limit int64) (files []string, err error) {
	if k.unsaved() {
		f, err := s.bury(ctx, v.ID, inside.RestBundle, limit)
		if err != nil && k.refusal() == "" {
			return nil, err // nobody has said that it may go
		}
		if err != nil {
			k.Failed = firstLine(err.Error())
		} else {
			files = append(files, f)
		}
	}
	if k.refusal() == "" {
		return files, nil
	}
	if k.Bundle != nil && len(k.work) > 0 {
		if f, err := s.bury(ctx, v.ID, inside.OutputBundle, limit); err != nil {
			k.Failed = firstLine(err.Error())
		} else {
			files = append(files, f)
		}
	}
	if k.Failed == "" && len(k.Lost) == 0 {
		return files, nil
	}
	more, err := s.buryWorkspace(ctx, b, d, v.ID)
	return append(files, more...), err
}

// bury copies a bundle of the exchange into the graveyard.
func (s *Service) bury(ctx context.Context, id, name string, limit int64) (string, error) {
	dst, err := s.grave(id, name)
	if err != nil {
		return "", err
	}
	got, err := git.CopyOut(ctx, s.exchange(id), name, dst, limit)
	if err == nil && name == inside.RestBundle {
		err = os.WriteFile(s.savedFile(id), []byte(got.SHA256), 0o600)
	}
	if err != nil {
		_ = os.Remove(dst)
		return "", fmt.Errorf("save %s in the graveyard: %w", name, err)
	}
	return dst, nil
}

// savedFile has the sum of the bundle that was last saved of what is beside a session's branch.
func (s *Service) savedFile(id string) string { return filepath.Join(s.dir(id), "saved.sum") }

// grave is a new name in the graveyard, from where nothing is ever removed by itself.
func (s *Service) grave(id, name string) (string, error) {
	dir := filepath.Join(s.Data, "graveyard")
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s", id, s.Now().UTC().Format(graveTime), name)), os.MkdirAll(dir, 0o700)
}

// graveTime is when something was buried, in the name of its file.
const graveTime = "20060102T150405.000"
