package keep

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/audit"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/socket"
)

// auditSocket is where the hook reports denials, in the exchange directory because that is what both sides see.
const auditSocket = "guard.sock"

// guarded is the guard of one run: the agent's prompt, and the policy for its hook.
type guarded struct {
	rules string
	etc   []box.File
	env   []string
}

// guard makes the policy from the session's real paths. Its last layer, the kernel, does not depend on any of this.
func (k *keeper) guard() (guarded, error) {
	policy, err := k.policy()
	if err != nil {
		return guarded{}, fmt.Errorf("make the guard's policy: %w", err)
	}
	g := guarded{rules: guard.Prompt(policy)}
	if _, shared := k.drv.(box.Sharer); shared && k.order.PlainGit {
		g.env = guard.GitEnv(policy)
	}
	if k.place.Guard == "" {
		if !slices.Contains(k.box.Spec.Accept, box.AcceptNoGuard) {
			return g, box.NoGuard()
		}
		k.step("cco-guard is not beside cco: the guard's hook is off in this session, as was accepted")
		return g, nil
	}
	file, err := settings.PolicyFile(policy)
	if err != nil {
		return g, err
	}
	for _, f := range append(settings.Managed(k.place.Guard, settings.PolicyPath, k.NewID()), file) {
		g.etc = append(g.etc, box.File{Path: strings.TrimPrefix(f.Path, "/etc/"), Data: f.Data, Mode: f.Mode})
	}
	return g, nil
}

func (k *keeper) policy() (p guard.Policy, err error) {
	if _, shared := k.drv.(box.Sharer); shared {
		p, err = discover.Policy(k.place.Workspace, k.box.Spec.Repo, k.place.Home)
	} else {
		p = guard.Policy{
			Workspace: k.place.Workspace, Home: k.place.Home, Branch: k.rec.Branch,
			GitDir: path.Join(k.place.Workspace, ".git"), GitCommonDir: path.Join(k.place.Workspace, ".git"),
			// The home is the session's own and goes with it.
			Scratch: []string{"/tmp", "/var/tmp", "/dev/shm", k.place.Home}, Caches: guard.CacheRoots(k.place.Home),
			Protected: []string{path.Dir(k.place.Tool)},
		}
	}
	p.Scratch = append(p.Scratch, k.place.Exchange)
	p.Exchange = k.place.Exchange
	p.AuditSocket = path.Join(k.place.Exchange, auditSocket)
	return p, err
}

// receiveDenials logs what the hook denies for as long as the agent runs. Without a log the agent works all the same.
func (k *keeper) receiveDenials(ctx context.Context) (stop func()) {
	l, err := socket.ListenAll(filepath.Join(k.Exchange(k.rec.ID), auditSocket))
	if err != nil {
		k.step("the guard's denials are not logged: %v", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = audit.Receive(ctx, l, audit.Open(k.Data, k.Now), k.rec.ID)
	}()
	return func() {
		cancel()
		_ = l.Close()
		<-done
	}
}
