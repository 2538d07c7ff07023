package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// ShallowRequest says what a shallow repository holds.
type ShallowRequest struct {
	Branch   string
	Commit   string
	Depth    int // 0: as much history as there is
	Progress ProgressFunc
}

// Shallow writes a bare repository to the new directory dir, with HEAD on the branch and its last Depth commits.
// A bundle can't carry a shallow history, so this is also what a shallow clone sends.
//
// It does without a transport: a clone would run upload-pack, which the user's configuration can point elsewhere.
func (r *Repo) Shallow(ctx context.Context, dir string, q ShallowRequest) (err error) {
	if err := r.CheckOID(q.Commit); err != nil {
		return err
	}
	cut, err := r.cut(ctx, q.Commit, q.Depth)
	if err != nil {
		return fmt.Errorf("find where to cut: %w", err)
	}
	refs := []NamedRef{{"refs/heads/" + q.Branch, q.Commit}}
	if err := WriteBare(dir, r.ObjectFormat, refs); err != nil {
		return fmt.Errorf("make shallow repository: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	var in strings.Builder
	for _, oid := range cut {
		in.WriteString("--shallow " + oid + "\n")
	}
	in.WriteString(q.Commit + "\n")
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	c, m := r.host.Cmd("pack-objects", "--revs", "--delta-base-offset", progressFlag(q.Progress),
		filepath.Join(abs, "objects", "pack", "pack")), NewMeter(q.Progress)
	c.Stdin, c.Stderr = strings.NewReader(in.String()), m
	if err := proc.Run(ctx, c); err != nil {
		return fmt.Errorf("pack shallow history: %w", m.Explain(err))
	}
	if len(cut) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(dir, "shallow"), []byte(strings.Join(cut, "\n")+"\n"), 0o600)
}

// cut gives the commits whose parents stay behind, sorted: those at the depth, and those where this clone is cut off.
func (r *Repo) cut(ctx context.Context, commit string, depth int) ([]string, error) {
	_, edge, err := r.recent(ctx, commit, depth)
	return edge, err
}

// recent walks back from commit, breadth first, for depth commits (0: all), and gives those within reach and those of
// them that have parents beyond it.
func (r *Repo) recent(ctx context.Context, commit string, depth int) (within, edge []string, err error) {
	here := r.shallowCommits()
	cat, err := r.host.CatFile(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer cat.Close()
	seen := map[string]bool{commit: true}
	level := []string{commit}
	for d := 1; len(level) > 0; d++ {
		var next []string
		err := cat.Each(level, 16<<20, func(o Object) error {
			if o.Kind != "commit" {
				return fmt.Errorf("commit %s is %s", Short(o.OID), o.Kind)
			}
			within = append(within, o.OID)
			parents := commitParents(o.Data)
			if len(parents) > 0 && (here[o.OID] || d == depth) {
				edge = append(edge, o.OID)
				return nil
			}
			for _, p := range parents {
				if !seen[p] {
					seen[p] = true
					next = append(next, p)
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		level = next
	}
	sort.Strings(edge)
	return within, edge, nil
}

// shallowCommits are the commits where this clone's history is cut off.
func (r *Repo) shallowCommits() map[string]bool {
	b, err := os.ReadFile(filepath.Join(r.CommonDir, "shallow"))
	if err != nil {
		return nil
	}
	m := map[string]bool{}
	for _, oid := range strings.Fields(string(b)) {
		m[oid] = true
	}
	return m
}

// commitParents reads the parents from a commit's header.
func commitParents(data []byte) []string {
	var parents []string
	for len(data) > 0 {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		if len(line) == 0 {
			break
		}
		if oid, ok := bytes.CutPrefix(line, []byte("parent ")); ok {
			parents = append(parents, string(oid))
		} else if !bytes.HasPrefix(line, []byte("tree ")) {
			break
		}
		data = rest
	}
	return parents
}

// WriteBare writes an empty bare repository by hand: no template is copied, and it costs no process.
func WriteBare(dir, format string, refs []NamedRef) error {
	for _, d := range []string{"", "objects", "objects/info", "objects/pack", "refs", "refs/heads"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if format != "sha1" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = " + format + "\n"
	}
	head := "refs/heads/main"
	var packed strings.Builder
	packed.WriteString("# pack-refs with: sorted \n")
	for i, r := range refs {
		if i == 0 {
			head = r.Name
		}
		packed.WriteString(r.OID + " " + r.Name + "\n")
	}
	for name, content := range map[string]string{"config": config, "HEAD": "ref: " + head + "\n",
		"packed-refs": packed.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}
