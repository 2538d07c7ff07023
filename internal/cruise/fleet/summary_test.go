package fleet

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/converter"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/must"
)

// maxMemo is what a summary may take of the service's memo with its seal and its name.
const maxMemo = 2000

// Guards against a memo that the service complains of, or does not take.
func TestTheLargestSummaryIsSmallEnough(t *testing.T) {
	long := func(letters string) string {
		r := rand.New(rand.NewPCG(1, 2))
		var b strings.Builder
		for all := []rune(letters); b.Len() < 5000; {
			b.WriteRune(all[r.IntN(len(all))])
		}
		return b.String()
	}
	var han strings.Builder
	for r := rune(0x4e00); r < 0x9fff; r++ {
		han.WriteRune(r)
	}
	for name, s := range map[string]string{
		"plain":   strings.Repeat("words ", 1000),
		"letters": long("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
		"escapes": long("\x01\x02\x03\x04\x05<>&\"\\\u2028"), "Chinese": long(han.String()),
	} {
		st := largest(s)
		sum := Summarize(st)
		sealed := must.Get(testKey(t).seal(Sealed{Kind: kindSummary, Phase: phase, Life: 100, Number: 100_000}, sum))(t)
		p := must.Get(converter.GetDefaultDataConverter().ToPayload(sealed))(t)
		size := len(memoSummary) + len(p.GetData())
		t.Logf("%s: %d bytes", name, size)
		if size > maxMemo {
			t.Errorf("%s: %d bytes", name, size)
		}
		data := must.Get(json.Marshal(sum))(t)
		if !utf8.Valid(data) || sum.Stage != st.Stage || sum.Spent != st.Spent || sum.Home == "" {
			t.Errorf("%s: %s", name, data)
		}
	}
}

// largest is a state whose words are endless, and whose names are as long as they may be.
func largest(s string) cruise.State {
	r := rand.New(rand.NewPCG(3, 4))
	name := func(letters string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	const digits, letters = "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789-_."
	oid := func() string { return name(digits, 64) }
	worker := func() cruise.Worker { return cruise.Worker{Agent: name(letters, 12), Model: name(letters, 40)} }
	remote := "https://" + name(letters, 200)
	now := time.Date(2026, 11, 19, 12, 34, 56, 789_123_456, time.UTC)
	return cruise.State{
		Spec: cruise.Spec{Task: s, Kind: cruise.Validating, Through: cruise.Validating, Repo: s, Remote: remote, Base: oid(),
			Box: s, On: s, Planner: worker(), Reviewer: worker(), Fixer: worker(), Domains: []string{s, s},
			Trusted: []string{s}, MaxRounds: 1000, MaxCost: 1234.5678, Timeout: 1000 * time.Hour, Merge: true},
		Kind: cruise.Validating, Stage: cruise.StageCleaning,
		PR:   &cruise.PullRequest{Number: 1 << 30, URL: remote + "/pull/1073741824", Base: name(letters, 50)},
		Plan: s, Round: 1000, Meta: reading.Metadata{Title: s, Branch: name(letters, 50)}, Started: now, LastActivity: now,
		Paused: true, End: cruise.EndCost, EndWords: s, Head: cruise.Head{Commit: oid(), Before: oid()},
		Base: cruise.Base{Branch: s}, Consent: cruise.Consent{Holding: oid()},
		Foreign: cruise.Foreign{Commit: oid()},
		Ask:     cruise.Ask{Question: s, Disputed: []string{s}, Resume: cruise.StageCleaning},
		Waiting: cruise.Waiting{Trouble: s, For: s, Stuck: s},
		Spent:   cruise.Spent{Cost: 1234.56789, Estimate: true, Tokens: 1 << 50},
		Life:    cruise.Life{Again: 100, Number: 100, Home: name(letters, 63)},
	}
}
