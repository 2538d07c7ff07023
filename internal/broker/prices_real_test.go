//go:build heavy

package broker

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against prices that nobody carries: each row is compared with the package that it names.
func TestRealPricesAreThoseOfThePackages(t *testing.T) {
	ps := must.Get(DefaultPrices())(t)
	carried := map[string]func(string) map[string]float64{"claude": claudeCarries(t), "opencode": opencodeCarries(t)}
	for _, p := range ps {
		name, _, _ := strings.Cut(p.Source, " ")
		find := carried[name]
		if find == nil {
			t.Errorf("%s: nothing is known of %q", p.Prefix, p.Source)
			continue
		}
		model := p.Prefix
		if p.Like != "" {
			model = p.Like
		}
		got := find(model)
		for key, ours := range map[string]float64{"input": p.Input, "output": p.Output, "cache_read": p.CacheRead} {
			if ours != got[key] {
				t.Errorf("%s: %s is %v, and %s has %v", p.Prefix, key, ours, p.Source, got[key])
			}
		}
	}
}

// biggest is the largest file of a package, which is the program.
func biggest(t *testing.T, agent string) string {
	t.Helper()
	root := filepath.Dir(filepath.Dir(agenttest.Program(t, agent))) // node_modules
	best, size := "", int64(0)
	must.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			best, size = path, info.Size()
		}
		return err
	}))
	text := must.Get(os.ReadFile(best))(t)
	return string(text)
}

var figure = regexp.MustCompile(`(\w+):([0-9.e]+)`)

func figures(text string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range figure.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil && out[m[1]] == 0 {
			out[m[1]] = v // the ordinary one stands first
		}
	}
	return out
}

func claudeCarries(t *testing.T) func(string) map[string]float64 {
	t.Helper()
	_, text, ok := strings.Cut(biggest(t, "claude"), "schema_version:1,pricing_tiers:{")
	if !ok {
		t.Fatal("claude has no list of prices")
	}
	text = text[:min(len(text), 40_000)]
	tiers := map[string]map[string]float64{}
	for _, m := range regexp.MustCompile(`(\w+):\{(input:[^}]*)`).FindAllStringSubmatch(text, -1) {
		tiers[m[1]] = figures(m[2])
	}
	models := map[string]string{}
	rows := regexp.MustCompile(`\{id:"(claude-[^"]+)",family.*?first_party:"([^"]+)".*?pricing:"([^"]+)"`)
	for _, m := range rows.FindAllStringSubmatch(text, -1) {
		models[m[1]], models[m[2]] = m[3], m[3]
	}
	return func(model string) map[string]float64 { return tiers[models[model]] }
}

func opencodeCarries(t *testing.T) func(string) map[string]float64 {
	t.Helper()
	text := biggest(t, "opencode")
	var lists string
	for _, name := range []string{"openai", "google"} {
		_, list, ok := strings.Cut(text, name+`:{id:"`+name+`",env:`)
		if !ok {
			t.Fatal("opencode has no list of ", name)
		}
		if end := strings.Index(list, `",env:[`); end > 0 { // the next provider
			list = list[:end]
		}
		lists += list
	}
	return func(model string) map[string]float64 {
		for _, id := range []string{model, model + "-preview"} {
			_, entry, ok := strings.Cut(lists, `{id:"`+id+`",`)
			if !ok {
				continue
			}
			if next := strings.Index(entry, `{id:"`); next > 0 {
				entry = entry[:next]
			}
			if at := strings.LastIndex(entry, "cost:{"); at >= 0 { // of the model; those of its faster modes stand before
				cost, _, _ := strings.Cut(entry[at:], "}")
				return figures(cost)
			}
		}
		return nil
	}
}
