package gate

import (
	"bytes"
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
)

// sample is one change of the corpus: a diff in plain text, with the kind that must be told, or "none".
type sample struct {
	kind, title string
	was, is     map[string]entry
}

type entry struct {
	mode string
	data []byte
}

var escape = regexp.MustCompile(`<(?:U\+([0-9A-F]+)|spaces (\d+))>`)

func plain(s string) string {
	return escape.ReplaceAllStringFunc(s, func(m string) string {
		f := escape.FindStringSubmatch(m)
		if f[2] != "" {
			n, _ := strconv.Atoi(f[2])
			return strings.Repeat(" ", n)
		}
		r, _ := strconv.ParseUint(f[1], 16, 32)
		return string(rune(r))
	})
}

// readCorpus reads "= KIND | TITLE", "@ PATH FLAGS" and lines with a sign in front. Flags are a mode, MODE>MODE,
// "< OLDPATH" for a file that moves, "kept" for one that does not change, "-> TARGET", "submodule", and "bytes N",
// "text N", "png N" or "gone N" for what is too large to write down.
func readCorpus(t *testing.T, name string) (all []*sample) {
	t.Helper()
	var now *sample
	var add func(sign byte, text string)
	for i, l := range strings.Split(strings.TrimSuffix(string(must.Get(os.ReadFile(name))(t)), "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "= "):
			kind, title, _ := strings.Cut(l[2:], " | ")
			now = &sample{kind: kind, title: title, was: map[string]entry{}, is: map[string]entry{}}
			all = append(all, now)
		case strings.HasPrefix(l, "@ "):
			add = now.file(plain(l[2:]))
		case l == "" || !strings.Contains(" +-", l[:1]):
			t.Fatalf("%s:%d: %q", name, i+1, l)
		default:
			add(l[0], plain(l[1:]))
		}
	}
	return all
}

var flags = regexp.MustCompile(`^(.*?)(?: (\d{3})(?:>(\d{3}))?)?(?: < (\S+)(?: \d{3})?)?(?: (kept|submodule|bytes|` +
	`text|png|gone)(?: (\d+))?)?$`)

func (s *sample) file(spec string) func(byte, string) {
	if p, target, ok := strings.Cut(spec, " -> "); ok {
		s.is[p] = entry{"120000", []byte(target)}
		return nil
	}
	f := flags.FindStringSubmatch(spec)
	p, was, is, from := f[1], "100644", "100644", f[4]
	if f[2] != "" {
		was, is = "100"+f[2], "100"+f[2]
	}
	if f[3] != "" {
		is = "100" + f[3]
	}
	if from == "" {
		from = p
	}
	n, _ := strconv.Atoi(f[6])
	switch f[5] {
	case "submodule":
		s.is[p] = entry{"160000", nil}
	case "bytes", "gone", "png":
		data := make([]byte, n)
		random := rand.NewChaCha8([32]byte{byte(n)})
		_, _ = random.Read(data)
		if f[5] == "png" {
			copy(data, "\x89PNG\r\n\x1a\n")
		}
		data[len(data)/2] = 0
		data[20] = 0
		if from != p || f[5] == "gone" {
			s.was[from] = entry{was, data}
		}
		if f[5] != "gone" {
			s.is[p] = entry{is, data}
		}
	case "text":
		s.is[p] = entry{is, bytes.Repeat([]byte("one, two, three\n"), n/16)}
	}
	return func(sign byte, text string) {
		add := func(m map[string]entry, p, mode string) {
			m[p] = entry{mode, append(m[p].data, text+"\n"...)}
		}
		if sign != '+' {
			add(s.was, from, was)
		}
		if sign != '-' {
			add(s.is, p, is)
		}
	}
}

// load writes all samples into one repository, as two commits each.
func load(t *testing.T, samples []*sample) (*git.Repo, []Range) {
	t.Helper()
	r := gittest.New(t)
	var in bytes.Buffer
	mark := 0
	commit := func(files map[string]entry, parent int) int {
		mark++
		fmt.Fprintf(&in, "commit refs/heads/c%d\nmark :%d\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\nx\n",
			mark, mark)
		if parent > 0 {
			fmt.Fprintf(&in, "from :%d\ndeleteall\n", parent)
		}
		// A file of the user's that never changes, so that no tree is empty.
		fmt.Fprintf(&in, "M 100644 inline zzz\ndata 1\nz\n")
		for p, e := range files {
			if e.mode == "160000" {
				fmt.Fprintf(&in, "M 160000 5012d16a93eef393e5d55012d16a93eef393e5d5 %s\n", strconv.Quote(p))
				continue
			}
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", e.mode, cQuote(p), len(e.data), e.data)
		}
		in.WriteString("\n")
		return mark
	}
	for _, s := range samples {
		commit(s.is, commit(s.was, 0))
	}
	r.Feed(in.String(), "fast-import", "--quiet", "--force")
	ids := map[string]string{}
	for l := range strings.Lines(r.Git("for-each-ref", "--format=%(refname:short) %(objectname)")) {
		name, oid, _ := strings.Cut(strings.TrimSpace(l), " ")
		ids[name] = oid
	}
	var ranges []Range
	for i := range samples {
		ranges = append(ranges, Range{Base: ids[fmt.Sprintf("c%d", 2*i+1)], Tip: ids[fmt.Sprintf("c%d", 2*i+2)]})
	}
	return must.Get(git.Open(t.Context(), r.Dir))(t), ranges
}

func cQuote(p string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p) + `"`
}

// Guards against a gate that misses what it is for, or cries at everything. The files with an "a" were written before
// there was a rule.
func TestCorpus(t *testing.T) {
	for _, set := range []struct {
		files string
		least int
		bad   float64 // the part that may be wrong
	}{{"risky-*.txt", 300, 0.03}, {"harmless-*.txt", 300, 0.03}} {
		t.Run(set.files, func(t *testing.T) {
			var samples []*sample
			for _, name := range must.Get(filepath.Glob("testdata/" + set.files))(t) {
				samples = append(samples, readCorpus(t, name)...)
			}
			repo, ranges := load(t, samples)
			wrong := 0
			for i, s := range samples {
				got := must.Get(Examine(t.Context(), repo, ranges[i]))(t).Kinds()
				if s.kind == "none" && len(got) > 0 || s.kind != "none" && !slices.Contains(got, Kind(s.kind)) {
					wrong++
					t.Logf("%s (%s): got %v", s.title, s.kind, got)
				}
			}
			t.Logf("%d of %d are wrong", wrong, len(samples))
			if len(samples) < set.least || float64(wrong) > set.bad*float64(len(samples)) {
				t.Errorf("%d of %d changes are not told for what they are", wrong, len(samples))
			}
		})
	}
}
