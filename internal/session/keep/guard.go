package keep

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/inside/gitwrap"
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
	// Where the kernel holds, the host's repositories are read-only or not there, and git needs no binding.
	if k.box.Spec.NoKernel() || k.order.PlainGit {
		g.env = k.boundGit(policy)
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
	hook := settings.Hook{Guard: k.place.Guard, Policy: file.Path, Name: "cco-guard-" + k.NewID(),
		Turns: k.order.Interactive}
	for _, f := range append(settings.Managed(agent.Hooks(), hook), file) {
		f.Path = strings.TrimPrefix(f.Path, "/etc/")
		g.etc = append(g.etc, f)
	}
	return g, nil
}

// boundGit makes every git work on the session's repository, wherever it is called: in a box without isolation nothing
// else keeps it from others. There a wrapper frees what the agent does in repositories that it makes itself, unless the
// user wants the plain variables.
func (k *keeper) boundGit(p guard.Policy) []string {
	env := gitwrap.Bind(p.GitDir, p.Workspace)
	if k.order.PlainGit {
		return env
	}
	return append(env, gitwrap.Wrap(p.GitDir, p.Workspace, k.rec.Repo, slices.Concat(p.Scratch, p.Caches))...)
}

func (k *keeper) policy() (p guard.Policy, err error) {
	p = guard.Policy{
		Workspace: k.place.Workspace, Home: k.place.Home, Branch: k.rec.Branch,
		GitDir: path.Join(k.place.Workspace, ".git"),
		// The home is the session's own and goes with it.
		Scratch: []string{"/tmp", "/var/tmp", "/dev/shm", k.place.Home}, Caches: guard.CacheRoots(k.place.Home),
		Protected: []string{path.Dir(k.place.Tool)},
	}
	if k.box.Spec.NoKernel() {
		p.Host = k.rec.Repo
	}
	p.Scratch = append(p.Scratch, k.place.Exchange)
	p.AuditSocket = path.Join(k.place.Exchange, auditSocket)
	return p, p.Validate()
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
		_ = audit.Receive(ctx, l, audit.Open(k.Data, k.Now), k.rec.ID,
			func(conversation string, ended bool) { k.takeTurn(ctx, conversation, ended) })
	}()
	return func() {
		cancel()
		_ = l.Close()
		<-done
	}
}
