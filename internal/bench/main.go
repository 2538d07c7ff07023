// Command bench measures cco beside the plain tools, in one run, and prints a table of ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

func main() {
	bin := flag.String("bin", "bin", "where cco is")
	commits := flag.Int("commits", 50_000, "commits of the generated repository")
	files := flag.Int("files", 2_000, "files of the generated repository")
	sessions := flag.Int("sessions", 50, "sessions at once")
	only := flag.String("only", "", "run only the measurements whose name contains this")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b, err := newBench(*bin, *commits, *files, *sessions)
	if err == nil {
		err = b.run(ctx, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line of the table.
type row struct{ what, ours, beside, ratio, bar string }

type bench struct {
	cco                      string
	dir                      string // everything is made below it
	env                      []string
	commits, files, sessions int
	rows                     []row
}

func newBench(bin string, commits, files, sessions int) (*bench, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(place(), "cco-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{cco: filepath.Join(bin, "cco"), dir: dir, commits: commits, files: files, sessions: sessions}
	gitconfig := "[user]\n\tname = Bench\n\temail = bench@example.org\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(dir, "gitconfig"), []byte(gitconfig), 0o600); err != nil {
		return nil, err
	}
	b.env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CONFIG_HOME="+
		filepath.Join(dir, "config"),
		"GIT_CONFIG_GLOBAL="+filepath.Join(dir, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1")
	return b, nil
}

// place is in memory if there is room, unless TMPDIR says otherwise. Both sides are measured there alike; on a disk the
// state of the file system would decide: ext4 takes ten times as long to make a file where many were deleted in the
// last minutes.
func place() string {
	const memory, room = "/dev/shm", 6 << 30
	var st syscall.Statfs_t
	if os.Getenv("TMPDIR") != "" || syscall.Statfs(memory, &st) != nil ||
		st.Bavail*uint64(st.Bsize) < room { // sizes are positive; their types differ by system
		return ""
	}
	return memory
}

func (b *bench) run(ctx context.Context, only string) error {
	defer func() {
		clean := context.WithoutCancel(ctx)
		_ = b.quiet(clean, b.dir, b.cco, "box", "destroy", "--force")
		_ = os.RemoveAll(b.dir)
	}()
	if err := b.quiet(ctx, b.dir, b.cco, "box", "create"); err != nil {
		return err
	}
	for _, m := range []struct {
		name string
		do   func(context.Context) error
	}{{"shell", b.shell}, {"push", b.push}, {"pull", b.pull},
		{"keep", b.keep}, {"guard", b.guard}, {"cage", b.caged},
		{"cruise", b.cruise}, {"editor", b.editor},
		{"door", b.door}, {"live", b.live},
		{"view-first", b.viewFirst}, {"view-home", b.viewHome}, {"view-lines", b.viewLines},
		{"view-late", b.viewLate}, {"view-many", b.viewMany}} {
		if !strings.Contains(m.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s …\n", m.name)
		if err := m.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	b.print()
	return nil
}

func (b *bench) print() {
	out := [][]string{{"what", "cco", "beside it", "ratio", "bar"}, {"---", "---", "---", "---", "---"}}
	for _, r := range b.rows {
		out = append(out, []string{r.what, r.ours, r.beside, r.ratio, r.bar})
	}
	for _, cells := range out {
		_, _ = fmt.Fprintf(os.Stdout, "| %s |\n", strings.Join(cells, " | "))
	}
}

func (b *bench) cmd(dir string, argv ...string) proc.Cmd {
	return proc.Cmd{Argv: argv, Dir: dir, Env: b.env}
}

func (b *bench) quiet(ctx context.Context, dir string, argv ...string) error {
	_, err := proc.Output(ctx, b.cmd(dir, argv...))
	return err
}

func (b *bench) output(ctx context.Context, dir string, argv ...string) (string, error) {
	out, err := proc.Output(ctx, b.cmd(dir, argv...))
	return string(out), err
}

// took runs a command and says how long it took.
func (b *bench) took(ctx context.Context, dir string, argv ...string) (time.Duration, error) {
	start := time.Now()
	err := b.quiet(ctx, dir, argv...)
	return time.Since(start), err
}

// alternate runs two things in turns, so that a busy machine slows both, and gives their medians.
func alternate(n int, one, other func() (time.Duration, error)) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	for range n {
		x, err := one()
		if err != nil {
			return 0, 0, err
		}
		y, err := other()
		if err != nil {
			return 0, 0, err
		}
		as, bs = append(as, x), append(bs, y)
	}
	return median(as), median(bs), nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f×", float64(a)/float64(b)) }

func ms(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
