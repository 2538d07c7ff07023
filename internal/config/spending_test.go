package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestParseTokens(t *testing.T) {
	for in, want := range map[string]int64{"1": 1, "500k": 500_000, "20M": 20_000_000, "none": 0} {
		if got, err := ParseTokens(in); err != nil || got != want {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "1.5M", "k", "20MM", "1kM", "99999999999999999999",
		"9999999999999999M", "None"} {
		if got, err := ParseTokens(in); err == nil {
			t.Errorf("%q: %d", in, got)
		}
	}
}

func TestParseDollars(t *testing.T) {
	for in, want := range map[string]float64{"1": 1, "2.50": 2.5, "$10": 10, "none": 0} {
		if got, err := ParseDollars(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "NaN", "Inf", "1,5", "ten"} {
		if got, err := ParseDollars(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

// Guards against a repository that takes the user's limits away.
func TestARepositoryCanOnlyLowerLimits(t *testing.T) {
	dir := t.TempDir()
	user, repo := filepath.Join(dir, "config.toml"), filepath.Join(dir, ".cco.toml")
	for path, text := range map[string]string{
		user: "[limits]\nrun_cost = 5\nday_tokens = \"1M\"\n[push]\nidle_timeout = \"10m\"\n",
		repo: "[limits]\nrun_cost = \"none\"\nrun_tokens = 1000\nday_tokens = \"2M\"\nday_cost = 2.5\n[push]\nidle_timeout " +
			"= \"none\"\n",
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	c, warnings, err := Load(Sources{UserFile: user, RepoFile: repo, Env: func(string) string { return "" }, Home: dir,
		Backends: backends()})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Spending{RunCost: 5, RunTokens: 1000, DayCost: 2.5, DayTokens: 1_000_000}); c.Limits != want ||
		c.Push.IdleTimeout.Minutes() != 10 {
		t.Errorf("%+v, idle %s", c.Limits, c.Push.IdleTimeout)
	}
	if len(warnings) != 3 {
		t.Errorf("%d warnings: %v", len(warnings), warnings)
	}
}
