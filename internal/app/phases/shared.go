package phases

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise/database"
	"github.com/cco-dev/cco/internal/store"
)

// shared is the database that machines share, opened once for a process: a command that follows a phase asks it often.
type shared struct {
	mu    sync.Mutex
	store *store.Shared
}

// OpenShared opens the database that the user's settings name, nil if they name none.
func (a *Phases) OpenShared(ctx context.Context) (*store.Shared, error) {
	cfg, err := a.ConfigIn(app.RepoTop(a.Dir))
	if err != nil || cfg.Engine.Database == "" {
		return nil, err
	}
	a.shared.mu.Lock()
	defer a.shared.mu.Unlock()
	if a.shared.store != nil {
		return a.shared.store, nil
	}
	db, err := a.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s, err := store.OpenShared(ctx, db.DB)
	if err != nil {
		db.Close()
		return nil, fmt.Errorf("%s: %w", db.Name, err)
	}
	a.shared.store = s
	return s, nil
}

func (a *Phases) connect(ctx context.Context, cfg config.Config) (*database.Database, error) {
	o := database.Options{Address: cfg.Engine.Database,
		Plaintext:  slices.Contains(cfg.Engine.Accept, config.Plaintext),
		Unverified: slices.Contains(cfg.Engine.Accept, config.Unverified)}
	if k := cfg.Engine.Password; !k.IsZero() {
		var err error
		if o.Password, err = broker.LoadSecret(ctx, app.KeySource(k), a.Env); err != nil {
			return nil, fmt.Errorf("engine.password: %w", err)
		}
	}
	return database.Open(ctx, o)
}

// openDatabase opens connections of its own to the shared database.
func (a *Phases) openDatabase(ctx context.Context, cfg config.Config) (*sql.DB, error) {
	db, err := a.connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return db.DB, nil
}
