package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/whole"
)

// Diagnose checks this machine.
func (a *App) Diagnose(ctx context.Context) ([]doctor.Check, error) {
	boxes, err := a.Boxes()
	if err != nil {
		return nil, err
	}
	tool, err := Tool()
	if err != nil {
		return nil, err
	}
	guard, self, err := Beside("cco-guard")
	if err != nil {
		return nil, err
	}
	own, err := a.OwnAgents()
	if err != nil {
		return nil, err
	}
	return doctor.Run(ctx, doctor.Input{Data: a.Dirs.Data, Tool: tool, Guard: guard, Self: self,
		Backends: checked(boxes), Default: DefaultBackend(), Agents: own}), nil
}

// checked are the backends that the doctor tries: the others start an engine or a machine.
func checked(boxes *box.Boxes) (list []doctor.Backend) {
	for _, b := range backends() {
		if b.checked {
			list = append(list, doctor.Backend{Name: b.Name, Driver: boxes.Drivers[b.Name], Profile: b.profile})
		}
	}
	return list
}

// Verify tries to break out of a box.
func (a *App) Verify(ctx context.Context, name string) ([]verify.Result, error) {
	boxes, err := a.Boxes()
	if err != nil {
		return nil, err
	}
	tool, err := Tool()
	if err != nil {
		return nil, err
	}
	b, d, err := boxes.Ready(ctx, name)
	if err != nil {
		return nil, err
	}
	a.IO.Progress("trying to break out of %s", name)
	defer a.IO.Settle()
	results, err := verify.Run(ctx, d, b, verify.Options{Tool: tool, ID: session.NewID})
	if err != nil {
		return results, err
	}
	data, err := json.Marshal(Verified{At: time.Now().UTC(), Results: results})
	if err == nil {
		err = whole.Write(filepath.Join(b.Dir, verifiedFile), data, 0o600)
	}
	if err != nil {
		a.IO.Warn("the outcome can't be kept: %v", err)
	}
	return results, nil
}

// verifiedFile is where a box's last verify is kept.
const verifiedFile = "verify.json"

// Verified is the outcome of an attack on a box.
type Verified struct {
	At      time.Time       `json:"at"`
	Results []verify.Result `json:"results"`
}

// Verified gives the outcome of the last verify of a box; nil if there was none.
func (a *App) Verified(name string) (*Verified, error) {
	v := &Verified{}
	data, err := os.ReadFile(filepath.Join(a.records().Dir(name), verifiedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	return v, err
}
