package aside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/safetext"
)

// logMessage is what the user's reflogs say.
const logMessage = "cco guard: brought over"

// carryOut does what was decided. The index comes first: if we are killed after it, the user sees the agent's changes
// staged, and not their opposite.
func (t *taking) carryOut(ctx context.Context, p *plan) error {
	if err := t.carryIndex(ctx, p); err != nil {
		return err
	}
	for _, m := range p.move {
		if err := t.swap(ctx, "refs/heads/"+m.Branch, m.From, m.To); err != nil {
			if proc.Code(err) < 0 {
				return err
			}
			// Somebody was faster, or a branch of that name can't be made beside another.
			p.keep = append(p.keep, Kept{Branch: m.Branch, Commit: m.To, Why: "git refused it: " + words(err)})
			if m.Branch == p.head {
				p.head, p.report.HeadLeft = "", "its branch did not come over"
			}
			continue
		}
		p.report.Moved = append(p.report.Moved, m)
	}
	for _, k := range p.keep {
		ref, err := t.keep(ctx, k)
		if err != nil {
			return err
		}
		k.Ref = ref
		p.report.Kept = append(p.report.Kept, k)
	}
	return t.carryHead(ctx, p)
}

// words is what git said, for a report.
func words(err error) string { return safetext.Line(git.Clip(err.Error())) }

// swap moves a ref that holds what it should; "" for nothing.
func (t *taking) swap(ctx context.Context, name, from, to string) error {
	from = cmp.Or(from, strings.Repeat("0", t.user.OIDLen()))
	return t.user.Host().Run(ctx, nil, "update-ref", "-m", logMessage, name, to, from)
}

// keep writes a ref beside the user's own. What it held is kept as well, unless this cage has put it there.
func (t *taking) keep(ctx context.Context, k Kept) (string, error) {
	below := beside + t.name + "/"
	names := []string{below + k.Branch, below + "commit-" + k.Commit}
	if odd(k.Branch) != "" && k.Branch != "HEAD" {
		names = names[1:]
	}
	var err error
	for _, name := range names {
		// A ref that can't be made beside those that are there gets another name.
		if err = t.keepAs(ctx, name, k.Commit); err == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("keep %s: %w", git.Quote(git.Clip(k.Branch)), err)
}

func (t *taking) keepAs(ctx context.Context, name, oid string) (err error) {
	if t.b.Kept == nil {
		t.b.Kept = map[string]string{}
	}
	if is := t.now.refs[name].OID; is != "" && is == t.b.Kept[name] {
		err = t.swap(ctx, name, is, oid)
	} else {
		_, err = t.user.SetRefs(ctx, []git.NamedRef{{Name: name, OID: oid}})
	}
	if err == nil {
		t.b.Kept[name] = oid
	}
	return err
}

// carryHead lets the user's HEAD follow, if it is still what it was.
func (t *taking) carryHead(ctx context.Context, p *plan) error {
	if p.head == "" {
		return nil
	}
	is, err := t.head(ctx, t.now.refs)
	if err != nil {
		return err
	}
	if is.Symref != t.now.head.Symref || is.Symref == "" && is != t.now.head {
		p.head, p.report.HeadLeft = "", "it moved meanwhile"
		return nil
	}
	if err := t.user.Host().Run(ctx, nil, "symbolic-ref", "-m", logMessage, "HEAD", "refs/heads/"+p.head); err != nil {
		return fmt.Errorf("move HEAD: %w", err)
	}
	p.report.Head = p.head
	return nil
}

// record writes down what was brought over. Until then the next Take does it all again.
func (t *taking) record(ctx context.Context, p plan, last bool) error {
	b := t.b
	for _, m := range slices.Concat(p.report.Moved, p.have) {
		if b.Refs["refs/heads/"+m.Branch].OID == "" {
			b.Own[m.Branch] = true
		}
		b.Refs["refs/heads/"+m.Branch] = git.Ref{OID: m.To}
	}
	now, err := t.part.now(ctx)
	if err != nil {
		return err
	}
	if at := now.head.Symref; at != "" && at == t.said.head.Symref && now.head.OID == b.Refs[at].OID {
		b.Head = now.head
	}
	b.Refused = nil
	for _, k := range p.report.Refused {
		b.Refused = append(b.Refused, k.Commit)
	}
	b.Inside, b.Others, b.Open = t.said.head, t.said.others, !last
	// The user's own refs, and those beside them, hold all of it now.
	if err := t.dropPassing(ctx); err != nil {
		return err
	}
	b.Index, err = os.ReadFile(filepath.Join(t.tmp, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.save(b)
}

// dropPassing removes the refs that held what was on its way.
func (t *taking) dropPassing(ctx context.Context) error {
	refs, err := t.user.Refs(ctx, passing+t.name+"/")
	for name, ref := range refs {
		err = errors.Join(err, t.user.DropRefAt(ctx, name, ref.OID))
	}
	return err
}
