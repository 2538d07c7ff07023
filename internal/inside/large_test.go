package inside

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// publishIn publishes a workspace and reads the result.
func publishIn(t *testing.T, g *gittest.Repo, j Job) Result {
	t.Helper()
	j.Session, j.Branch = "aaaaaaaa", "main"
	j.Workspace, j.Exchange = g.Dir, t.TempDir()
	must.Do(t, Publish(t.Context(), j))
	data, err := os.ReadFile(filepath.Join(j.Exchange, ResultFile))
	var r Result
	if err = errors.Join(err, json.Unmarshal(data, &r)); err != nil {
		t.Fatal(err)
	}
	return r
}

// Guards against missing commits because HEAD was left elsewhere.
func TestPublishOffersTheBranchWhereverHeadIs(t *testing.T) {
	tests := []struct {
		name  string
		leave []string
		on    bool // commits come after, where HEAD is
		want  string
	}{
		{"detached at the base", []string{"checkout", "-q", "--detach", "BASE"}, false, "main"},
		{"on another branch", []string{"checkout", "-q", "-b", "other", "BASE"}, false, "main"},
		{"with commits of its own", []string{"checkout", "-q", "--detach", "BASE"}, true, "main"},
		{"on top of the branch", []string{"checkout", "-q", "--detach", "main"}, true, "HEAD"},
		{"on the branch", []string{"checkout", "-q", "main"}, false, "main"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := gittest.New(t, "-b", "main")
			base := g.Commit("start", "a.txt", "a\n")
			g.Commit("work", "b.txt", "b\n")
			args := strings.Split(strings.ReplaceAll(strings.Join(tt.leave, " "), "BASE", base), " ")
			g.Git(args...)
			if tt.on {
				g.Commit("more", "c.txt", "c\n")
			}
			g.Write("left.txt", "left\n")
			r := publishIn(t, g, Job{Base: base})
			if want := g.Git("rev-parse", tt.want); r.Head != want {
				t.Errorf("it offers %s, not %s", g.Git("log", "-1", "--format=%s", r.Head), g.Git("log", "-1", "--format=%s", want))
			}
			if got := g.Git("diff", "--name-status", "HEAD", r.Wip); got != "A\tleft.txt" {
				t.Errorf("leftovers: %q", got)
			}
			if head := g.Git("rev-parse", "HEAD"); g.Git("merge-base", head, r.Wip) != head {
				t.Error("what HEAD has is nowhere")
			}
		})
	}
}

// Guards against a sparse file that keeps publishing busy for as long as it takes to read it.
func TestPublishLeavesLargeFilesWhereTheyAre(t *testing.T) {
	for name, how := range map[string]string{"untracked": "", "tracked": "a.txt", "staged": "add", "no index": "rm"} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t, "-b", "main")
			base := g.Commit("start", "a.txt", "a\n")
			g.Commit("work", "b.txt", "b\n")
			g.Write("left.txt", "left\n")
			file, size, most := "build/big one.bin", int64(200<<30), int64(0)
			switch how {
			case "a.txt":
				file = how
			case "add":
				size, most = 2<<20, 1<<20
			}
			g.Write(file, "")
			must.Do(t, os.Truncate(filepath.Join(g.Dir, filepath.FromSlash(file)), size))
			switch how {
			case "add":
				g.Git("add", ".")
			case "rm":
				must.Do(t, os.Remove(filepath.Join(g.Dir, ".git", "index")))
			}
			start := time.Now()
			r := publishIn(t, g, Job{Base: base, MaxFile: most})
			took := time.Since(start)
			if all := readingTakes(t, 200<<30); took > all/4 {
				t.Errorf("it took %s, and to read it takes %s", took, all)
			}
			if lost := strings.Join(r.Lost, "\n"); len(r.Lost) != 1 || !strings.HasPrefix(lost, file+", ") ||
				!strings.Contains(lost, "pull.max_blob") {
				t.Errorf("lost: %q", r.Lost)
			}
			if got := g.Git("diff", "--name-status", "HEAD", r.Wip); got != "A\tleft.txt" {
				t.Errorf("leftovers: %q", got)
			}
			if r = publishIn(t, g, Job{Base: base, What: What{NoWip: true}}); r.Wip != "" || r.Bundle == nil || !r.NoWip {
				t.Errorf("without leftovers: %+v", r)
			}
		})
	}
}

// readingTakes is how long git would read a sparse file of a size, here and now.
func readingTakes(t *testing.T, size int64) time.Duration {
	t.Helper()
	const part = 128 << 20
	g := gittest.New(t)
	g.Write("part", "")
	must.Do(t, os.Truncate(filepath.Join(g.Dir, "part"), part))
	start := time.Now()
	g.Git("hash-object", "part")
	return time.Duration(size/part) * time.Since(start)
}
