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
)

// Driver makes and enters boxes of containers.
type Driver struct{ opts Options }

var _ box.Driver = (*Driver)(nil)

// New makes a driver. Nothing is looked at before it is used.
func New(o Options) *Driver { return &Driver{opts: o} }

// made is what a box was made of, kept in its directory.
type made struct {
	engine
	image
}

func stateFile(b *box.Box) string { return filepath.Join(b.Dir, "container.json") }

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
	if err != nil {
		return err
	}
	return os.WriteFile(stateFile(b), data, 0o600)
}

// Check says whether an engine answers.
func (d *Driver) Check(ctx context.Context) error {
	_, err := findEngine(ctx, box.Container{})
	return err
}

// Create finds the engine and the image, makes the box's directories and leaves it running.
func (d *Driver) Create(ctx context.Context, b *box.Box, report box.Report) error {
	if report == nil {
		report = func(string, ...any) {}
	}
	if !filepath.IsAbs(b.Dir) || !filepath.IsAbs(b.Exchange) {
		return fmt.Errorf("make box %s: its directories must be absolute paths", b.Name)
	}
	if err := checkSpec(b); err != nil {
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
	id, err := rooms.Claim(b)
	if err != nil {
		return err
	}
	l := rooms.Layout{Dir: b.Dir}
	for _, dir := range []string{l.Home(), l.Sessions(), l.Shells(), l.Caches(), l.Repos(), l.Run()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make box %s: %w", b.Name, err)
		}
	}
	if err := errors.Join(id.Own(l.Home()), id.Own(l.Caches())); err != nil {
		return fmt.Errorf("make box %s: %w", b.Name, err)
	}
	m := &made{*e, img}
	if err := m.write(b); err != nil {
		return err
	}
	return d.open(ctx, b, id)
}

// Start makes sure of the engine and the image, and lets programs run. The box has no process of its own.
func (d *Driver) Start(ctx context.Context, b *box.Box, _ box.Report) error {
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
	if err := m.write(b); err != nil {
		return err
	}
	if up, err := d.Running(ctx, b); err != nil || up {
		return err
	}
	id, err := rooms.Owner(b)
	if err != nil {
		return err
	}
	return d.open(ctx, b, id)
}

// open lets programs run, after one has. What an engine says of itself does not show that it can start a container: its
// runtime, the kernel and the machine's limits have a word in it.
func (d *Driver) open(ctx context.Context, b *box.Box, id rooms.Identity) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	if err := errors.Join(runs(b).Open(), runs(b).Sweep(ctx)); err != nil {
		return fmt.Errorf("start box %s: %w", b.Name, err)
	}
	home := jail.Mount{Source: rooms.Layout{Dir: b.Dir}.Home(), Target: jail.Home}
	if err := d.enter(ctx, b, id, home, box.Exec{Argv: []string{jail.Tool, "probe", "noop"}}); err != nil {
		return d.broken(ctx, b, err)
	}
	b.Boot = boot
	return nil
}

// broken closes a box in which nothing can run, and says so.
func (d *Driver) broken(ctx context.Context, b *box.Box, err error) error {
	if closing := runs(b).Close(context.WithoutCancel(ctx)); closing != nil {
		return errors.Join(err, closing)
	}
	if _, known := errors.AsType[*box.Unavailable](err); known || ctx.Err() != nil {
		return err
	}
	return &box.Unavailable{
		What: "the container backend", Why: "no container starts here: " + err.Error(),
		Mend: "see what the engine says of a container of your own, name another with --engine or --runtime, or use " +
			"another backend",
	}
}

// Stop ends every program in the box, lets no other start, and has the engine remove what a crash has left.
func (d *Driver) Stop(ctx context.Context, b *box.Box) error {
	if err := runs(b).Close(ctx); err != nil {
		return fmt.Errorf("stop box %s: %w", b.Name, err)
	}
	b.Boot = ""
	m, err := readMade(b)
	if errors.Is(err, rooms.ErrNotCreated) {
		return nil
	}
	if err != nil {
		return err
	}
	l := rooms.Layout{Dir: b.Dir}
	return errors.Join(m.sweep(ctx, b), tree.Remove(l.Shells()), tree.Remove(controls(b)))
}

// sweep removes containers of the box, none of which runs any more. With an engine that doesn't answer there are none.
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

// remove removes a container, and is content if somebody else is doing so.
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

// Destroy removes what the driver keeps for the box. The image stays: other boxes may be made of it.
func (d *Driver) Destroy(ctx context.Context, b *box.Box) error {
	if err := d.Stop(ctx, b); err != nil {
		return err
	}
	l := rooms.Layout{Dir: b.Dir}
	for _, dir := range []string{l.Sessions(), l.Home(), l.Caches(), l.Repos(), l.Run(), l.ToolDir(), l.Bulky(), l.Owner(),
		stateFile(b)} {
		if err := tree.Remove(dir); err != nil {
			return fmt.Errorf("destroy box %s: %w", b.Name, err)
		}
	}
	return nil
}

// Running says whether the box was started since this boot and not stopped.
func (d *Driver) Running(_ context.Context, b *box.Box) (bool, error) {
	boot, err := bootID()
	if err != nil || b.Boot != boot {
		return false, err
	}
	return runs(b).IsOpen()
}

// Prepare makes a session's home, a copy of the provisioned one, its workspace and its exchange directory.
func (d *Driver) Prepare(_ context.Context, b *box.Box, session string) (box.Place, error) {
	if err := cage.CheckKey("session", session); err != nil {
		return box.Place{}, err
	}
	id, err := rooms.Owner(b)
	if err != nil {
		return box.Place{}, err
	}
	exchange := filepath.Join(b.Exchange, session)
	err = id.Prepare(rooms.Layout{Dir: b.Dir}, session)
	if err == nil {
		err = os.MkdirAll(exchange, 0o700)
	}
	if err == nil {
		err = id.Own(exchange)
	}
	if err != nil {
		return box.Place{}, fmt.Errorf("prepare session %s: %w", session, err)
	}
	place := box.Place{Workspace: "/workspace/" + session, Exchange: "/exchange/" + session, Home: jail.Home,
		State: jail.Home, Tool: jail.Tool, Store: jail.Store}
	if d.opts.Guard != "" {
		place.Guard = jail.Guard
	}
	return place, nil
}

// Halt ends what still runs for a session.
func (d *Driver) Halt(ctx context.Context, b *box.Box, session string) error {
	if err := cage.CheckKey("session", session); err != nil {
		return err
	}
	if err := runs(b).End(ctx, session); err != nil {
		return fmt.Errorf("end session %s: %w", session, err)
	}
	return nil
}

// Discard ends what still runs for a session and removes its home and workspace.
func (d *Driver) Discard(ctx context.Context, b *box.Box, session string) error {
	if err := d.Halt(ctx, b, session); err != nil {
		return err
	}
	if err := tree.Remove(rooms.Layout{Dir: b.Dir}.Session(session)); err != nil {
		return fmt.Errorf("discard session %s: %w", session, err)
	}
	return nil
}

func runs(b *box.Box) cage.Registry { return cage.Registry{Dir: rooms.Layout{Dir: b.Dir}.Run()} }

// controls is where the sockets are by which containers call.
func controls(b *box.Box) string { return filepath.Join(b.Dir, "control") }

// boxKey tells the boxes of all data directories apart.
func boxKey(b *box.Box) string {
	sum := sha256.Sum256([]byte(b.Dir))
	return hex.EncodeToString(sum[:8])
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
