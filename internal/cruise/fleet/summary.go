package fleet

import (
	"encoding/base64"
	"encoding/json"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/safetext"
)

// Bounds of what a summary says.
const (
	maxSaid  = 200  // bytes of a text
	maxSmall = 80   // and of a name
	maxBox   = 1800 // bytes that the service keeps of all of it; with its seal and its name it has at most 2 kB
)

// Summarize is what others see of a phase while they don't have it: a state with little in it, and with less of each
// text the more there is of others.
func Summarize(st cruise.State) cruise.State {
	for most := maxSaid; ; most /= 2 {
		s := summary(st, most)
		if most == 0 {
			return s
		}
		if data, err := json.Marshal(s); err == nil {
			small, err := deflate(data)
			if err == nil && base64.StdEncoding.EncodedLen(len(small)) <= maxBox {
				return s
			}
		}
	}
}

func summary(st cruise.State, maxSaid int) cruise.State {
	maxSmall := min(maxSmall, maxSaid)
	spec := st.Spec
	s := cruise.State{
		Spec: cruise.Spec{Task: cut(spec.Task, maxSaid), Kind: spec.Kind, Through: spec.Through, Remote: spec.Remote,
			Box: cut(spec.Box, maxSmall), Planner: spec.Planner, Reviewer: spec.Reviewer, Fixer: spec.Fixer,
			MaxRounds: spec.MaxRounds, MaxCost: spec.MaxCost, Timeout: spec.Timeout, Merge: spec.Merge},
		Kind: st.Kind, Stage: st.Stage, PR: st.PR, Round: st.Round, Started: st.Started, LastActivity: st.LastActivity,
		Meta:    reading.Metadata{Title: cut(st.Meta.Title, maxSaid), Branch: st.Meta.Branch},
		Head:    cruise.Head{Commit: st.Head.Commit},
		Base:    cruise.Base{Branch: cut(st.Base.Branch, maxSmall)},
		Consent: cruise.Consent{Holding: st.Consent.Holding},
		Foreign: cruise.Foreign{Commit: st.Foreign.Commit},
		Ask:     cruise.Ask{Question: cut(st.Ask.Question, maxSaid), Resume: st.Ask.Resume},
		Waiting: cruise.Waiting{Trouble: cut(st.Waiting.Trouble, maxSaid), For: cut(st.Waiting.For, maxSmall)},
		Spent:   st.Spent,
		Life:    cruise.Life{Number: st.Life.Number, Home: st.Life.Home},
		Paused:  st.Paused, End: st.End, EndWords: cut(st.EndWords, maxSaid),
	}
	return s
}

func cut(s string, most int) string {
	const dots = "…"
	if len(s) <= most {
		return s
	}
	if most < len(dots) {
		return ""
	}
	return s[:safetext.Boundary(s, most-len(dots))] + dots
}
