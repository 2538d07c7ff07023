package gitea

import (
	"fmt"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against a stranger's push that counts as the next one's, because Gitea has not written of it yet.
func TestAPushThatTheTimelineLacksIsUnknown(t *testing.T) {
	by := func(who string, commits ...string) pushed {
		return pushed{who: forge.Pusher{Name: who}, Commits: commits}
	}
	forced := func(who, before, after string) pushed {
		return pushed{who: forge.Pusher{Name: who}, Forced: true, Commits: []string{before, after}}
	}
	line := history{"1": {"base"}, "2": {"1"}, "3": {"2"}}
	opened, rob, ada := by("ada", "1"), by("rob", "2"), by("ada", "3")
	merged := history{"1": {"base"}, "2": {"1"}, "m": {"2", "moved base"}}
	aside := history{"1": {"base"}, "a": {"1"}, "b": {"a"}}
	for name, c := range map[string]struct {
		all      []pushed
		has      history
		from, to string
		want     string
	}{
		"the last":                     {[]pushed{opened, rob, ada}, line, "2", "3", "[ada]"},
		"both":                         {[]pushed{opened, rob, ada}, line, "1", "3", "[ada rob]"},
		"written the other way round":  {[]pushed{opened, ada, rob}, line, "1", "3", "[rob ada]"},
		"the one below is not written": {[]pushed{opened, ada}, line, "1", "3", "[]"},
		"ours is not written":          {[]pushed{opened, ada}, line, "2", "3", "[ada]"},
		"the one on top is not":        {[]pushed{opened, rob}, line, "1", "3", "[]"},
		"nothing is written":           {nil, line, "1", "3", "[]"},
		"a push after it":              {[]pushed{opened, rob, ada}, line, "1", "2", "[rob]"},
		"one of several commits":       {[]pushed{opened, by("rob", "2", "3")}, line, "1", "3", "[rob]"},
		"the base was merged":          {[]pushed{opened, rob, by("ada", "m")}, merged, "2", "m", "[ada]"},
		"another base": {[]pushed{opened, rob, ada, forced("rob", "3", "a"), by("ada", "b")}, aside, "3", "b",
			"[ada rob]"},
		"the forced one is not written": {[]pushed{opened, rob, ada, by("ada", "b")}, aside, "3", "b", "[]"},
		"one that was forced away": {[]pushed{opened, by("eve", "x"), forced("rob", "x", "a")}, aside, "1", "a",
			"[rob]"},
		"kept below a forced one": {[]pushed{opened, rob, by("ada", "x"), forced("ada", "x", "3")}, line, "1", "3",
			"[ada rob]"},
		"back to an older one": {[]pushed{opened, rob, ada, forced("rob", "3", "1")}, history{"1": {"base"}}, "3", "1",
			"[rob]"},
		"nobody's":                   {[]pushed{opened, by("", "2")}, line, "1", "2", "[]"},
		"a commit that is not there": {[]pushed{opened, rob, ada}, line, "1", "9", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{}
			for _, p := range pushersOf(c.all, c.has, c.from, c.to) {
				names = append(names, p.Name)
			}
			if got := fmt.Sprint(names); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
