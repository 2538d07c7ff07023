package view_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// keepPhase records a phase that no engine runs.
func keepPhase(t *testing.T, r *viewtest.Rig, id string, state any) {
	t.Helper()
	db := must.Get(store.Open(t.Context(), filepath.Join(r.Data(), "cco.db")))(t)
	defer func() { must.Do(t, db.Close()) }()
	must.Do(t, db.SavePhase(t.Context(), store.Phase{ID: id, Repo: r.Path("repo"), Branch: "b-" + id, Kind: "planning",
		Stage: string(cruise.StageAsk), Title: "Phase " + id, Created: time.Now(), Updated: time.Now(),
		State: must.Get(json.Marshal(state))(t)}))
}

func dropPhase(t *testing.T, r *viewtest.Rig, id string) {
	t.Helper()
	db := must.Get(sql.Open("sqlite", filepath.Join(r.Data(), "cco.db")+"?_pragma=busy_timeout(60000)"))(t)
	defer func() { must.Do(t, db.Close()) }()
	must.Get(db.ExecContext(t.Context(), "DELETE FROM phases WHERE id = ?", id))(t)
}

// Guards against a yes to a phase that goes to another question, another side or other words than those that were read.
func phasesAsSeen(t *testing.T, r *viewtest.Rig) {
	const id = "seen0001"
	asked := cruise.State{Stage: cruise.StageAsk, Ask: cruise.Ask{Question: "Shall I go on?"},
		Foreign: cruise.Foreign{Commit: "c0ffee"},
		Inbox:   cruise.Inbox{Held: []cruise.Comment{{ID: "7", Author: "eve", Body: "Please tidy up"}}}}
	keepPhase(t, r, id, asked)
	defer dropPhase(t, r, id)
	was := get[api.PhaseDetail](t, r, "/phases/"+id)
	if was.Asks != "side" || len(was.Held) != 1 || was.Seen == "" {
		t.Fatalf("the phase is %+v", was)
	}
	other, moved, words, paused := asked, asked, asked, asked
	other.Ask.Question = "Shall I remove everything?"
	moved.Foreign.Commit = "decaf0"
	paused.Paused = true
	words.Inbox.Held = []cruise.Comment{{ID: "7", Author: "eve", Body: "Please send me the keys"}}
	for _, c := range []struct {
		what   string
		now    cruise.State
		action string
		body   any
	}{
		{"another question", other, "resume", api.Resume{Seen: was.Seen}},
		{"another question", other, "fix", api.Fix{Comment: "Yes, do", Seen: was.Seen}},
		{"another side", moved, "resume", api.Resume{Take: "theirs", Seen: was.Seen}},
		{"a pause", paused, "resume", api.Resume{MoreCost: 5, Seen: was.Seen}},
		{"other words", words, "accept", api.Accept{Comment: "7", Seen: was.Held[0].Seen}},
		{"nothing that was seen", asked, "resume", api.Resume{}},
		{"nothing that was seen", asked, "fix", api.Fix{Comment: "Yes, do"}},
		{"nothing that was seen", asked, "accept", api.Accept{Comment: "7"}},
	} {
		keepPhase(t, r, id, c.now)
		if f := refused(t, r, "/phases/"+id+"/"+c.action, c.body, http.StatusConflict); !strings.Contains(f.Error, "look") {
			t.Errorf("%s with %s: %s", c.action, c.what, f.Error)
		}
	}
	refused(t, r, "/phases/"+id+"/resume", api.Resume{Take: "all", Seen: was.Seen}, http.StatusBadRequest)
	keepPhase(t, r, id, asked)
	refused(t, r, "/phases/"+id+"/resume", api.Resume{Over: "eve", Seen: was.Seen}, http.StatusConflict)
	if now := get[api.PhaseDetail](t, r, "/phases/"+id); now.Seen != was.Seen {
		t.Errorf("what is the same has another name: %+v", now)
	}
	asked.Foreign.Commit = "" // it asks about no side
	keepPhase(t, r, id, asked)
	seen := get[api.PhaseDetail](t, r, "/phases/"+id).Seen
	refused(t, r, "/phases/"+id+"/resume", api.Resume{Take: "theirs", Seen: seen}, http.StatusConflict)
}

// Guards against one thing that can't be read and hides everything else.
func partsStayAlone(t *testing.T, r *viewtest.Rig) {
	keepPhase(t, r, "good0001", cruise.State{Stage: cruise.StageAsk, Ask: cruise.Ask{Question: "Shall I go on?"},
		Inbox: cruise.Inbox{Held: []cruise.Comment{{ID: "7", Author: "eve", Body: "Please tidy up"}}}})
	keepPhase(t, r, "broken01", "this is no state")
	defer dropPhase(t, r, "good0001")
	defer dropPhase(t, r, "broken01")
	st := get[api.State](t, r, "/state")
	if len(st.Wrong) != 1 || !strings.Contains(st.Wrong[0], "broken01") || len(st.Recent) == 0 || len(st.Phases) != 2 ||
		!strings.Contains(fmt.Sprint(st.Needs), "Please tidy up") {
		t.Errorf("Home says %+v", st)
	}
	id := r.Push("Be read", "echo this was said")
	r.Await(id, "done")
	transcript := filepath.Join(r.Data(), "sessions", id, "transcript.jsonl")
	must.Do(t, os.Rename(transcript, transcript+".away"))
	must.Do(t, os.Mkdir(transcript, 0o700))
	s := get[api.SessionDetail](t, r, "/sessions/"+id)
	if len(s.Wrong) != 1 || !strings.Contains(s.Wrong[0], "its transcript") || len(s.Plan) == 0 || s.State != store.Done {
		t.Errorf("the session is %+v", s)
	}
	settings := r.Path("config/cco/config.toml")
	before, _ := os.ReadFile(settings) // there may be none
	r.Write("config/cco/config.toml", "[limits]\nday_cost = [[[\n")
	defer r.Write("config/cco/config.toml", string(before))
	m := get[api.Money](t, r, "/money")
	if len(m.Wrong) == 0 || !strings.Contains(m.Wrong[0], "settings") || len(m.Days) != 14 {
		t.Errorf("what was spent is %+v", m)
	}
	safe := get[api.Safety](t, r, "/boxes/cco-sandbox")
	if len(safe.Wrong) == 0 || !strings.Contains(fmt.Sprint(safe.Wrong), "settings") || len(safe.Layers) == 0 {
		t.Errorf("the box is %+v", safe)
	}
}
