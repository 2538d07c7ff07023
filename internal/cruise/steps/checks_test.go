package steps

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against a job that reports a failure on the base in the name of another one, which would excuse that.
func TestOnlyAJobOnTheBaseExcusesAJob(t *testing.T) {
	failed := func(name string, job int64) forge.Check {
		return forge.Check{Name: name, State: forge.ChecksFailed, Job: job}
	}
	got := checksOf(forge.Checked{
		All: []forge.Check{failed("forged", 1), failed("job", 2), failed("other", 0), failed("both", 0), failed("both", 3)},
		Base: []forge.Check{failed("forged", 0), failed("job", 4), failed("other", 0), failed("both", 0),
			{Name: "green", State: forge.ChecksPassed}},
	}).Base
	if want := []string{"job", "other"}; !slices.Equal(got, want) {
		t.Errorf("%q fail on the base, want %q", got, want)
	}
}
