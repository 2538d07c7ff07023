package gate

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

var shape = regexp.MustCompile(`<(an|low|hex|HEX|up|UP|b64|dig|bech|letter|uuid)(?: (\d+))?>`)

// invent fills a shape with random characters. It gives the values apart too.
func invent(r *rand.Rand, text string) (line string, values []string) {
	const small, large, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	of := map[string]string{"an": small + large + digits, "low": small + digits, "hex": digits + "abcdef",
		"HEX": digits + "ABCDEF",
		"up":  large + "234567", "UP": large + digits, "b64": small + large + digits + "+/", "dig": digits,
		"letter": small + large,
		"bech":   "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"}
	random := func(from string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = from[r.IntN(len(from))]
		}
		return string(b)
	}
	text = strings.ReplaceAll(text, "<key>", "PRIVATE KEY")
	line = shape.ReplaceAllStringFunc(text, func(m string) string {
		f := shape.FindStringSubmatch(m)
		n, _ := strconv.Atoi(f[2])
		v := random(of[f[1]], n)
		if f[1] == "uuid" {
			h := func(n int) string { return random(of["hex"], n) }
			v = fmt.Sprintf("%s-%s-4%s-a%s-%s", h(8), h(4), h(3), h(3), h(12))
		}
		if len(v) > 10 {
			values = append(values, v)
		}
		return v
	})
	return strings.ReplaceAll(line, `\n`, "\n"), values
}

func shapes(t *testing.T) (all []string) {
	for l := range strings.Lines(string(must.Get(os.ReadFile("testdata/secrets.txt"))(t))) {
		if l = strings.TrimSuffix(l, "\n"); !strings.HasPrefix(l, "# ") {
			all = append(all, l)
		}
	}
	return all
}

// Guards against keys that pass the gate, and against a report that prints one.
func TestSecretsAreFoundAndNotPrinted(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("base", "a", "a\n")
	random := rand.New(rand.NewPCG(1, 2))
	lines := map[string]bool{}
	total := 0
	var values []string
	// Most shapes once, and the first ones again with other values, until there are more than 200.
	list := shapes(t)
	list = append(list, list[:60]...)
	for i, s := range list {
		text, v := invent(random, s)
		values = append(values, v...)
		name := fmt.Sprintf("src/f%03d.txt", i)
		r.Write(name, "one\n"+text+"\nthree\n")
		lines[name] = true
		total++
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "keys")
	tip := strings.TrimSpace(r.Git("rev-parse", "HEAD"))
	x := look(t, r, Range{Base: base, Tip: tip})
	for _, f := range x.findings {
		if f.Kind == "secrets" {
			delete(lines, f.Path)
		}
		for _, v := range values {
			if len(v) >= 16 && (strings.Contains(f.Text, v) || strings.Contains(f.Says, v)) {
				t.Errorf("a value is printed: %+v", f)
			}
		}
	}
	var missed []string
	for name := range lines {
		i, _ := strconv.Atoi(name[5:8])
		missed = append(missed, list[i])
	}
	slices.Sort(missed)
	t.Logf("%d of %d found; missed: %s", total-len(missed), total, strings.Join(missed, "\n\t"))
	if total < 200 || len(missed)*20 > total {
		t.Errorf("%d of %d secrets were missed", len(missed), total)
	}
}

func look(t *testing.T, r *gittest.Repo, in Range) *examination {
	t.Helper()
	repo := must.Get(git.Open(t.Context(), r.Dir))(t)
	x := &examination{ctx: t.Context(), repo: repo, host: repo.Host(), in: in}
	must.Do(t, x.run())
	return x
}

func files(x *examination, k Kind) (all []string) {
	for _, f := range x.findings {
		if f.Kind == k && !slices.Contains(all, f.Path) {
			all = append(all, f.Path)
		}
	}
	return all
}

// Guards against a gate that cries at ordinary code: whole modules, each as one commit.
func TestFewSecretsInModules(t *testing.T) {
	for _, module := range []string{"github.com/spf13/cobra", "golang.org/x/net", "github.com/getkin/kin-openapi"} {
		t.Run(module, func(t *testing.T) {
			dir := strings.TrimSpace(string(must.Get(proc.Output(t.Context(), proc.Cmd{
				Argv: []string{"go", "list", "-m", "-f", "{{.Dir}}", module}, Env: os.Environ()}))(t)))
			if dir == "" {
				t.Fatalf("%s is not in the module cache: run `go mod download`", module)
			}
			r := gittest.New(t)
			base := r.Commit("base", "zzz", "z\n")
			must.Do(t, os.CopyFS(filepath.Join(r.Dir, "m"), os.DirFS(dir)))
			r.Git("add", "-A")
			r.Git("commit", "-q", "-m", "module")
			x := look(t, r, Range{Base: base, Tip: strings.TrimSpace(r.Git("rev-parse", "HEAD"))})
			flagged := files(x, "secrets")
			t.Logf("%d of %d files: %v", len(flagged), len(x.changes), flagged)
			if len(flagged)*50 > len(x.changes) {
				t.Errorf("%d of %d files have secrets: %v", len(flagged), len(x.changes), flagged)
			}
		})
	}
}

// Guards against a pull that an agent holds up with keys without end, and against leaving some out without a word.
func TestManySecretsAreNotAllLookedFor(t *testing.T) {
	r := gittest.New(t)
	base := r.Commit("base", "a", "a\n")
	var b strings.Builder
	for i := range maxSecrets + 10 {
		fmt.Fprintf(&b, "ghp"+"_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8FgJ%06d\n", i*7919%1000003)
	}
	repo := must.Get(git.Open(t.Context(), r.Dir))(t)
	report := must.Get(Examine(t.Context(), repo, Range{Base: base, Tip: r.Commit("work", "keys", b.String())}))(t)
	if len(report.Groups) != 1 || report.Groups[0].Count != maxSecrets || len(report.Groups[0].Findings) != mostOfKind ||
		!slices.Contains(report.Notes, "not looked at: secrets after the first 1000") {
		t.Errorf("%d groups, notes %q", len(report.Groups), report.Notes)
	}
}
