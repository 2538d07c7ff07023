package keeping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// remover is set for a process that is to be killed: what it does, the data directory, cco-box, the user's repository,
// the session and the box.
const remover = "CCO_REMOVER"

// removeAs begins as every command does, and then removes or restores a session.
func removeAs(ctx context.Context, words string) error {
	w := strings.Split(words, "\n")
	what, data, tool, dir, id, name := w[0], w[1], w[2], w[3], w[4], w[5]
	st, err := store.Open(ctx, filepath.Join(data, "cco.db"))
	if err != nil {
		return err
	}
	quiet := func(string, ...any) {}
	s := &session.Service{Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now,
		NewID: session.NewID, Report: quiet, Warn: quiet}
	driver := worktree.New(worktree.Options{Tool: tool, Path: os.Getenv("PATH")})
	s.Boxes.Drivers = map[string]box.Driver{"worktree": driver}
	Of(s).Settle(ctx)
	o := session.PullOptions{Dir: dir, Box: name, Elsewhere: true, Bundle: 1 << 30}
	switch what {
	case "restore":
		_, err = Of(s).Restore(ctx, id, o)
	case "session":
		_, err = Of(s).RestoreSession(ctx, id, o)
	case "remove":
		var free []Remains
		if free, _, err = Of(s).Remains(ctx, PruneOptions{IDs: []string{id}, Force: true}); err == nil {
			_, err = Of(s).Prune(ctx, free)
		}
	}
	return err
}

// Guards against work that is lost when cco is killed at any moment of a removal or a return. BURY_KILLS says how
// often, and BURY_SEED repeats a run.
func TestKilledRemovals(t *testing.T) {
	kills, seed := 5, uint64(time.Now().UnixNano()%1e9)
	if text := os.Getenv("BURY_KILLS"); text != "" {
		kills = must.Get(strconv.Atoi(text))(t)
	}
	if text := os.Getenv("BURY_SEED"); text != "" {
		seed = must.Get(strconv.ParseUint(text, 10, 64))(t)
	}
	t.Logf("BURY_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	m := mourn(t)
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	must.Get(m.Boxes.Create(t.Context(), "other", "worktree", spec, func(string, ...any) {}))(t)
	run := func(ctx context.Context, what, name string) error {
		words := strings.Join([]string{what, m.Data, insideTool, m.user.Dir, m.id, name}, "\n")
		return proc.Run(ctx, proc.Cmd{Argv: []string{must.Get(os.Executable())(t)}, Dir: t.TempDir(),
			Env: append(os.Environ(), remover+"="+words)})
	}
	start := time.Now()
	must.Do(t, run(t.Context(), "remove", "wt"))
	must.Do(t, run(t.Context(), "session", "wt"))
	most := time.Since(start) // for two of them, so that half are killed at least
	died := 0
	for n := 0; died < kills; n++ {
		what, name := []string{"remove", "restore", "session"}[random.IntN(3)], []string{"wt", "other"}[random.IntN(2)]
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(most))))
		err := run(ctx, what, name)
		if ctx.Err() != nil && err != nil {
			died++
		}
		kill()
		if m.once(fmt.Sprintf("%d, %s in %s", n, what, name)); t.Failed() {
			return
		}
	}
	Of(m.Service).Settle(t.Context())
	m.once("at the end")
	list := must.Get(m.Store.Graves(t.Context(), ""))(t)
	if len(list) > 1 || len(list) == 1 && list[0].State != store.Buried {
		t.Errorf("not finished: %+v", list)
	}
}
