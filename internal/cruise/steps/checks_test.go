package steps

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
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

// leaky is a forge whose checks and logs have a key in them.
type leaky struct {
	Forge
	says string
}

func (f leaky) JobLog(context.Context, int64) (string, error) { return f.says, nil }

// Guards against keys that a job prints and that would go to a model or onto the request.
func TestKeysInWhatChecksSayAreMasked(t *testing.T) {
	const key = "k3B9xQ2mZ7vT1wL5nR8cY4aD6fH0jS3pU9eX"
	says := "error: token ghp_" + key + " is refused\n"
	d := &Doer{Forge: func(context.Context, string) (Forge, error) { return leaky{says: says}, nil }}
	if log := must.Get(d.Log(t.Context(), cruise.JobIn{}))(t); strings.Contains(log, key) ||
		!strings.Contains(log, "is refused") {
		t.Errorf("the log: %q", log)
	}
	c := checksOf(forge.Checked{All: []forge.Check{{Name: "x", Summary: says, URL: "https://ci.example/?t=ghp_" + key}}})
	if one := c.All[0]; strings.Contains(one.Summary+one.URL, key) || !strings.Contains(one.Summary, "is refused") {
		t.Errorf("%+v", one)
	}
}
