package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// starter starts the programs of boxes, each in a container of its own.
type starter struct{}

// New makes a driver. It looks at nothing until it is used.
func New(o Options) box.Driver {
	return &rooms.Driver{
		Options: rooms.Options{Tool: o.Tool, Guard: o.Guard, Keeps: []string{madeFile, controls}},
		Starter: starter{},
	}
}

// These are kept in a box's directory.
const (
	madeFile = "container.json" // the engine and the image of the box
	controls = "control"        // the sockets that containers connect to
)

// made is the engine and the image of a box, kept in its directory.
type made struct {
	engine
	image
}

func stateFile(b *box.Box) string { return filepath.Join(b.Dir, madeFile) }

func readMade(b *box.Box) (*made, error) {
	data, err := os.ReadFile(stateFile(b))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("box %s: %w", b.Name, rooms.ErrNotCreated)
	}
	if err != nil {
		return nil, err
	}
	var m made
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("read %s: %w", stateFile(b), err)
	}
	return &m, nil
}

func (m *made) write(b *box.Box) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = os.MkdirAll(b.Dir, 0o700)
	}
	if err != nil {
		return err
	}
	return whole.Write(stateFile(b), data, 0o600)
}

// Check says whether an engine answers.
func (starter) Check(ctx context.Context) error {
	_, err := findEngine(ctx, box.Container{})
	return err
}

// Make finds the engine and the image.
func (starter) Make(ctx context.Context, b *box.Box, report box.Report) error {
	if err := rooms.CheckSpec(b, checkMount, cage.AcceptNoSeccomp); err != nil {
		return err
	}
	e, err := findEngine(ctx, b.Spec.Container)
	if err != nil {
		return err
	}
	if !e.Seccomp {
		return &box.Unavailable{What: "the engine's seccomp filter", Why: e.Name + " says that it has none",
			Mend: "use an engine and a kernel with seccomp"}
	}
	img, err := e.findImage(ctx, b.Spec.Container, report)
	if err != nil {
		return err
	}
	report("making box %s with %s %s", b.Name, e.Name, e.Version)
	return (&made{*e, img}).write(b)
}

// Ready makes sure of the engine and the image.
func (starter) Ready(ctx context.Context, b *box.Box) error {
	m, err := readMade(b)
	if err != nil {
		return err
	}
	now, err := ask(ctx, m.Name, m.Runtime)
	if err != nil {
		return err
	}
	if _, ok, err := now.has(ctx, m.ID); err != nil || !ok {
		return errors.Join(err, &box.Unavailable{
			What: "the image of box " + b.Name, Why: m.Name + " no longer has it", Mend: "cco box destroy " + b.Name +
				" and create it again",
		})
	}
	m.engine = *now
	return m.write(b)
}

// Try runs a program that does nothing. An engine's report about itself does not show that it can start a container:
// this also depends on its runtime, the kernel and the machine's limits.
func (starter) Try(ctx context.Context, _ *box.Box, enter func(box.Exec) error) error {
	err := enter(box.Exec{Argv: []string{jail.Tool, "probe", "noop"}})
	if _, known := errors.AsType[*box.Unavailable](err); err == nil || known || ctx.Err() != nil {
		return err
	}
	return &box.Unavailable{
		What: "the container backend", Why: "no container starts here: " + err.Error(),
		Mend: "run a container of your own with the engine, name another with --engine or --runtime, or use " +
			"another backend",
	}
}

// Stopped has the engine remove what a crash has left.
func (starter) Stopped(ctx context.Context, b *box.Box) error {
	m, err := readMade(b)
	if errors.Is(err, rooms.ErrNotCreated) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(m.sweep(ctx, b), tree.Remove(filepath.Join(b.Dir, controls)))
}

// sweep removes the box's containers, none of which runs any more. If the engine doesn't answer there are none.
func (e *engine) sweep(ctx context.Context, b *box.Box) error {
	out, err := e.output(ctx, "ps", "--all", "--quiet", "--filter", "label="+label+"="+boxKey(b))
	if _, gone := errors.AsType[*box.Unavailable](err); gone {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for containers of box %s: %w", b.Name, err)
	}
	for _, id := range strings.Fields(string(out)) {
		if err := e.remove(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a container. It is not an error if somebody else is doing so.
func (e *engine) remove(ctx context.Context, id string) error {
	_, err := e.output(ctx, "rm", "--force", "--volumes", id)
	if err == nil {
		return nil
	}
	if goes(err) {
		return nil
	}
	return fmt.Errorf("remove container %s: %w", id, err)
}

// boxKey distinguishes the boxes of all data directories.
func boxKey(b *box.Box) string {
	sum := sha256.Sum256([]byte(b.Dir))
	return hex.EncodeToString(sum[:8])
}
