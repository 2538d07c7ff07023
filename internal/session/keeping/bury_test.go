package keeping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// insideTool is the program that runs in boxes.
var insideTool string

func TestMain(m *testing.M) {
	if words := os.Getenv(remover); words != "" {
		if err := removeAs(context.Background(), words); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "session")
	if err == nil {
		insideTool = filepath.Join(dir, "cco-box")
		err = programs.Build(context.Background(), dir, "cco-box")
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// mourner is a user with a session that holds everything that could be lost.
type mourner struct {
	*session.Service
	t    *testing.T
	user *gittest.Repo
	id   string
	had  map[string]string // the files of its workspace
	o    session.PullOptions
}

func service(t *testing.T) *session.Service {
	t.Helper()
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = st.Close() })
	return &session.Service{
		Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now, NewID: session.NewID,
		Report: func(string, ...any) {}, Warn: func(string, ...any) {},
	}
}

func mourn(t *testing.T) *mourner {
	t.Helper()
	user := gittest.New(t)
	user.Commit("start", "a.txt", "a")
	s := service(t)
	s.Boxes.Drivers = map[string]box.Driver{"worktree": worktree.New(worktree.Options{Tool: insideTool,
		Path: os.Getenv("PATH")})}
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	must.Get(s.Boxes.Create(t.Context(), "wt", "worktree", spec, func(string, ...any) {}))(t)
	s.Spawn = func(string, ...*os.File) error { return nil }
	rec := must.Get(s.HandOff().Push(t.Context(), session.PushOptions{Dir: user.Dir, Message: "do it", Box: "wt",
		Agent: "script"}))(t)
	b, d, err := s.Boxes.Ready(t.Context(), "wt")
	must.Do(t, err)
	p := must.Get(d.Prepare(t.Context(), b, rec.ID))(t)
	must.Get(s.HandOff().Receive(t.Context(), b, d, rec, p, false, s.Report))(t)
	must.Get(s.Store.UpdateSession(t.Context(), rec.ID, func(v *store.Session) error {
		v.State, v.Started, v.Finished = store.Done, time.Now(), time.Now()
		return nil
	}))(t)
	work := gittest.At(t, p.Workspace)
	work.Commit("work", "work.txt", "work\n")
	work.Git("checkout", "-q", "-b", "side")
	work.Commit("side", "side.txt", "side\n")
	work.Git("checkout", "-q", "main")
	work.Write("a.txt", "stashed")
	work.Git("stash", "-q")
	work.Write("left.txt", "left")
	work.Write("staged.txt", "staged")
	work.Git("add", "staged.txt")
	must.Do(t, os.Remove(filepath.Join(p.Workspace, "staged.txt")))
	for name, text := range map[string]string{".claude/projects/x/talk.jsonl": "talk",
		".claude/.credentials.json": "login", ".bash_history": "history"} {
		file := filepath.Join(p.Home, name)
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	m := &mourner{Service: s, t: t, user: user, id: rec.ID, had: files(t, p.Workspace)}
	m.o = session.PullOptions{Dir: user.Dir, Box: "wt", Bundle: 1 << 30}
	return m
}

// files are the files below a directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		all[name] = string(data)
		return err
	}))
	return all
}

// holds says what a workspace lacks. Publishing adds objects and refs, and changes nothing else.
func (m *mourner) holds(dir, when string) {
	m.t.Helper()
	now := files(m.t, dir)
	for name, text := range m.had {
		if now[name] != text && name != ".git/index" && name != ".git/objects/info/alternates" {
			m.t.Errorf("%s: %s is %q, was %q", when, name, now[name], text)
		}
	}
}

func (m *mourner) inBox() string {
	return filepath.Join(m.Boxes.Dir("wt"), "sessions", m.id, "workspace")
}

func (m *mourner) inGrave() string { return filepath.Join(m.Data, "graveyard", m.id, "workspace") }

func (m *mourner) throwAway() error {
	free, _, err := Of(m.Service).Remains(m.t.Context(), PruneOptions{IDs: []string{m.id}, Force: true})
	if err == nil {
		_, err = Of(m.Service).Prune(m.t.Context(), free)
	}
	return err
}

// steps runs something once and gives the steps that it went through.
func (m *mourner) steps(do func() error) (steps []string) {
	m.t.Helper()
	m.Fault = func(step string) { steps = append(steps, step) }
	must.Do(m.t, do())
	m.Fault = nil
	return steps
}

// broken is what a step leaves with.
type broken struct{}

var errBrokenOff = errors.New("broken off")

// killed is do's error, or that it was broken off.
func killed(do func() error) (err error) {
	defer func() {
		switch at := recover().(type) {
		case nil:
		case broken:
			err = errBrokenOff
		default:
			panic(at)
		}
	}()
	return do()
}

// breakOff breaks something off at its nth step.
func (m *mourner) breakOff(n int, do func() error) {
	m.t.Helper()
	m.Fault = func(string) {
		if n--; n < 0 {
			panic(broken{})
		}
	}
	if err := killed(do); !errors.Is(err, errBrokenOff) {
		m.t.Errorf("it was not broken off: %v", err)
	}
	m.Fault = nil
}

// once says that a workspace is in one place, and whole there.
func (m *mourner) once(when string) {
	m.t.Helper()
	there := must.Get(filepath.Glob(m.inGrave() + "/left.txt"))(m.t)
	for _, dir := range []string{filepath.Join(m.Boxes.Dir("*"), "sessions", m.id, "workspace"),
		strings.Replace(m.inGrave(), m.id, m.id+".*", 1)} {
		there = append(there, must.Get(filepath.Glob(dir+"/left.txt"))(m.t)...)
	}
	if len(there) != 1 {
		m.t.Errorf("%s: it is in %v", when, there)
		return
	}
	m.holds(filepath.Dir(there[0]), when)
}

// Guards against work that is lost because a removal was killed: at each of its steps once, and it is finished by the
// next start.
func TestARemovalThatIsBrokenOffIsFinished(t *testing.T) {
	m := mourn(t)
	all := m.steps(m.throwAway)
	m.buried("without a fault")
	if len(all) < 8 {
		t.Fatalf("only these steps: %v", all)
	}
	for n, step := range all {
		when := fmt.Sprintf("broken off at %d, %s", n, step)
		must.Get(Of(m.Service).RestoreSession(t.Context(), m.id, m.o))(t)
		m.once(when)
		m.breakOff(n, m.throwAway)
		m.once(when)
		Of(m.Service).Settle(t.Context())
		m.buried(when)
	}
}

// buried says that a removal is complete.
func (m *mourner) buried(when string) {
	m.t.Helper()
	m.holds(m.inGrave(), when)
	for _, gone := range []string{filepath.Dir(m.inBox()), m.Exchange(m.id), m.OrderFile(m.id)} {
		if graveyard.Has(gone) {
			m.t.Errorf("%s: %s is still there", when, gone)
		}
	}
	home := slices.Sorted(maps.Keys(files(m.t, filepath.Join(filepath.Dir(m.inGrave()), "home"))))
	if !slices.Equal(home, []string{".claude/projects/x/talk.jsonl"}) {
		m.t.Errorf("%s: of its home there are %v", when, home)
	}
	list, err := Of(m.Service).Graveyard(m.t.Context(), m.id)
	if err != nil || len(list) != 1 || list[0].State != string(store.Buried) || list[0].Held == "" {
		m.t.Errorf("%s: %+v, %v", when, list, err)
	}
}

// Guards against work that is lost because somebody looked at it again.
func TestARestoreThatIsBrokenOffLosesNothing(t *testing.T) {
	m := mourn(t)
	commits := func() error {
		r, err := Of(m.Service).Restore(t.Context(), m.id, m.o)
		if err == nil && len(r.Refs) != 4 {
			err = fmt.Errorf("it brought %v", r.Refs)
		}
		return err
	}
	session := func() error {
		_, err := Of(m.Service).RestoreSession(t.Context(), m.id, m.o)
		return err
	}
	must.Do(t, m.throwAway())
	all := m.steps(commits)
	if !slices.Contains(all, atOut) {
		t.Errorf("only these steps: %v", all)
	}
	for n, step := range all {
		when := fmt.Sprintf("commits, broken off at %d, %s", n, step)
		m.breakOff(n, commits)
		m.once(when)
		Of(m.Service).Settle(t.Context())
		m.buried(when)
	}
	must.Do(t, commits())
	steps := m.steps(session)
	m.holds(m.inBox(), "again in its box")
	for n, step := range steps {
		when := fmt.Sprintf("session, broken off at %d, %s", n, step)
		must.Do(t, m.throwAway())
		m.breakOff(n, session)
		m.once(when)
		Of(m.Service).Settle(t.Context())
		m.once(when + ", then settled")
		if graveyard.Has(m.inGrave()) {
			must.Do(t, session())
		}
		m.holds(m.inBox(), when)
		talk := filepath.Join(filepath.Dir(m.inBox()), "home/.claude/projects/x/talk.jsonl")
		if text, err := os.ReadFile(talk); err != nil || string(text) != "talk" {
			t.Errorf("%s: what the agent said is %q, %v", when, text, err)
		}
	}
	if got := m.user.Git("show", "refs/cco/"+m.id+"-kept/stash/0:a.txt"); got != "stashed" {
		t.Errorf("the stash holds %q", got)
	}
}

// Guards against the same where several removals and returns are broken off one after the other, wherever it happens.
func TestRandomKillsLoseNothing(t *testing.T) {
	m := mourn(t)
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	must.Get(m.Boxes.Create(t.Context(), "other", "worktree", spec, func(string, ...any) {}))(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range 100 {
		when := fmt.Sprintf("kill %d with seed %d", i, seed)
		n := random.IntN(14)
		m.Fault = func(string) {
			if n--; n < 0 {
				panic(broken{})
			}
		}
		m.o.Box, m.o.Elsewhere = []string{"wt", "other"}[random.IntN(2)], random.IntN(2) == 0
		err := killed(func() (err error) {
			Of(m.Service).Settle(t.Context()) // as every start does
			switch random.IntN(3) {
			case 0:
				_, err = Of(m.Service).Restore(t.Context(), m.id, m.o)
			case 1:
				_, err = Of(m.Service).RestoreSession(t.Context(), m.id, m.o)
			default:
				err = m.throwAway()
			}
			return err
		})
		m.Fault = nil
		var state *session.StateError
		if err != nil && !errors.Is(err, errBrokenOff) && !errors.As(err, &state) {
			t.Fatalf("%s: %v", when, err)
		}
		if m.once(when); t.Failed() {
			return
		}
	}
	Of(m.Service).Settle(t.Context())
	m.once("at the end")
}

// Guards against a box that takes the objects with it which its sessions borrow, and one that is used again halfway.
func TestAStoreStaysAsLongAsItsGraves(t *testing.T) {
	m := mourn(t)
	m.Graves = &session.Graves{Days: 30, Size: 1 << 30}
	m.breakOffDestroy()
	must.Get(Of(m.Service).DestroyBox(t.Context(), "wt", true))(t)
	stores := func() int {
		list, _ := os.ReadDir(Of(m.Service).yard().Store(""))
		return len(list)
	}
	if graveyard.Has(m.Boxes.Dir("wt")) || stores() != 1 {
		t.Fatalf("the box is there: %v, %d stores", graveyard.Has(m.Boxes.Dir("wt")), stores())
	}
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	for _, name := range []string{"wt", "other"} {
		must.Get(m.Boxes.Create(t.Context(), name, "worktree", spec, func(string, ...any) {}))(t)
		m.o.Box, m.o.Elsewhere = name, true
		// What the user's repository has is not needed.
		if r, err := Of(m.Service).Restore(t.Context(), m.id, m.o); err != nil || len(r.Refs) != 4 {
			t.Errorf("in %s: %+v, %v", name, r, err)
		}
	}
	m.holds(m.inGrave(), "after it was looked at in other boxes")
	must.Get(Of(m.Service).DestroyBox(t.Context(), "other", false))(t)
	if stores() != 1 { // the last box that had it
		t.Errorf("%d stores", stores())
	}
	must.Do(t, Of(m.Service).RemoveGrave(t.Context(), m.id))
	if left := files(t, filepath.Join(m.Data, "graveyard")); len(left) != 1 || stores() != 0 {
		t.Errorf("left: %v, %d stores", slices.Collect(maps.Keys(left)), stores())
	}
}

func (m *mourner) breakOffDestroy() {
	m.t.Helper()
	m.Fault = func(step string) {
		if step == atStored {
			panic(broken{})
		}
	}
	destroy := func() error {
		_, err := Of(m.Service).DestroyBox(m.t.Context(), "wt", true)
		return err
	}
	if err := killed(destroy); !errors.Is(err, errBrokenOff) {
		m.t.Errorf("it was not broken off: %v", err)
	}
	m.Fault = nil
}

// Guards against a graveyard that fills the disk, and against one that makes room by losing what is nowhere else.
func TestOnlyWhatHasArrivedGoesForItsSize(t *testing.T) {
	s := service(t)
	now := time.Now()
	s.Now = func() time.Time { return now }
	s.Graves = &session.Graves{Days: 30, Size: 100}
	must.Do(t, Of(s).yard().Open())
	add := func(id string, days int, arrived bool, bytes int64) {
		g := store.Grave{Session: id, N: 1, State: store.Buried, Arrived: arrived, Bytes: bytes,
			Buried: now.Add(-time.Duration(days) * 24 * time.Hour)}
		must.Do(t, s.Store.AddGraves(t.Context(), g))
		must.Do(t, os.MkdirAll(filepath.Join(Of(s).yard().Grave(id), "workspace", "closed"), 0o700))
		must.Do(t, os.Chmod(filepath.Join(Of(s).yard().Grave(id), "workspace", "closed"), 0))
	}
	add("00000001", 31, false, 1)
	add("00000002", 29, false, 50)
	add("00000003", 5, true, 40)
	add("00000004", 4, true, 40)
	add("00000005", 3, true, 10)
	must.Do(t, Of(s).Expire(t.Context()))
	var left []string
	for _, g := range must.Get(Of(s).Graveyard(t.Context(), ""))(t) {
		left = append(left, g.ID)
	}
	if !slices.Equal(left, []string{"00000002", "00000004", "00000005"}) {
		t.Errorf("left: %v", left)
	}
	err := Of(s).room(t.Context(), []store.Grave{{Session: "00000006", Bytes: 51}})
	if !errors.As(err, new(*session.StateError)) || !strings.Contains(err.Error(), "graveyard rm 00000002`") {
		t.Errorf("%v", err)
	}
	must.Do(t, Of(s).room(t.Context(), []store.Grave{{Session: "00000006", Bytes: 51, Arrived: true}}))
	s.Graves.Days = 0
	must.Do(t, Of(s).Expire(t.Context()))
	if list := must.Get(Of(s).Graveyard(t.Context(), ""))(t); len(list) > 0 {
		t.Errorf("left: %v", list)
	}
	if rubbish := files(t, Of(s).yard().Dir); len(rubbish) != 1 {
		t.Errorf("left: %v", rubbish)
	}
}

// Guards against a grave whose record was lost, with the database: it is in nobody's way, and nothing removes it.
func TestAGraveWithoutARecordStays(t *testing.T) {
	m := mourn(t)
	m.Graves = &session.Graves{Days: 0, Size: 1}
	put := filepath.Join(m.inGrave(), "precious")
	must.Do(t, os.MkdirAll(m.inGrave(), 0o700))
	must.Do(t, os.WriteFile(put, []byte("precious"), 0o600))
	m.Graves = nil
	must.Do(t, m.throwAway())
	m.holds(filepath.Join(m.Data, "graveyard", m.id+".2", "workspace"), "beside another")
	m.Graves = &session.Graves{Days: 0, Size: 1}
	must.Do(t, Of(m.Service).Expire(t.Context()))
	if text, err := os.ReadFile(put); err != nil || !bytes.Equal(text, []byte("precious")) {
		t.Errorf("%q, %v", text, err)
	}
}

// deadMachine is a machine that does not start any more.
type deadMachine struct {
	box.Driver
	disk string
}

func (deadMachine) Platform(context.Context, *box.Box) (goos, arch string, err error) {
	return "linux", "amd64", nil
}
func (d deadMachine) Disk(context.Context, *box.Box) (string, error)  { return d.disk, nil }
func (deadMachine) Running(context.Context, *box.Box) (bool, error)   { return false, nil }
func (deadMachine) Start(context.Context, *box.Box, box.Report) error { return errors.New("no boot") }
func (deadMachine) Stop(context.Context, *box.Box) error              { return nil }

// Guards against work that is lost with a machine which does not start, and against one that can never be destroyed.
func TestTheDiskOfAMachineThatDoesNotStartIsMoved(t *testing.T) {
	m := mourn(t)
	disk := filepath.Join(t.TempDir(), "wt")
	must.Do(t, os.Mkdir(disk, 0o700))
	must.Do(t, os.WriteFile(filepath.Join(disk, "diffdisk"), []byte("all of it"), 0o600))
	m.Boxes.Drivers["worktree"] = deadMachine{m.Boxes.Drivers["worktree"], disk}
	if _, err := Of(m.Service).DestroyBox(t.Context(), "wt", false); !errors.As(err, new(*UnsavedError)) {
		t.Errorf("without force: %v", err)
	}
	var said string
	m.Warn = func(format string, args ...any) { said += fmt.Sprintf(format, args...) }
	gone := must.Get(Of(m.Service).DestroyBox(t.Context(), "wt", true))(t)
	text, err := os.ReadFile(filepath.Join(gone.Disk, "diffdisk"))
	if err != nil || string(text) != "all of it" || !strings.Contains(said, "no boot") {
		t.Errorf("%q, %v, said %q", text, err, said)
	}
	list := must.Get(Of(m.Service).Graveyard(t.Context(), ""))(t)
	if len(list) != 1 || list[0].What != GraveMachine || graveyard.Has(m.Boxes.Dir("wt")) {
		t.Fatalf("%+v", list)
	}
	must.Do(t, Of(m.Service).RemoveGrave(t.Context(), list[0].Name))
	if graveyard.Has(gone.Disk) {
		t.Error("it is still there")
	}
}
