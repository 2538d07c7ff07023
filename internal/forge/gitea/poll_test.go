package gitea_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a review that nobody is told of: it came in the very second in which a server read its requests, which
// then took longer for its answer. Gitea's times are whole seconds.
func TestAReviewThatCameDuringASlowAnswerIsToldOf(t *testing.T) {
	clock := &forgetest.Clock{}
	began := time.Now().UTC().Truncate(time.Second)
	at := began.Format(time.RFC3339)
	reviews := []object{}
	a := answers{
		"GET /api/v1/user": say(object{"login": "ada"}), "GET /issues/comments": say([]object{}),
		"GET /issues/1/comments": say([]object{}),
		"GET /pulls/1/reviews":   func(w http.ResponseWriter, r *http.Request) { say(reviews)(w, r) },
		"GET /pulls": func(w http.ResponseWriter, r *http.Request) {
			must.Do(t, clock.Sleep(r.Context(), 4*time.Second))
			w.Header().Set("Date", began.Add(4*time.Second).Format(http.TimeFormat))
			say([]object{{"number": 1, "state": "open", "user": object{"login": "ada"}, "created_at": at, "updated_at": at,
				"head": object{"ref": "topic", "sha": head}, "base": object{"ref": "main", "sha": head}}})(w, r)
		},
	}
	f := hostileAt(t, clock, a)
	poll := func(since forge.Mark) []forge.News {
		return must.Get(f.Poll(t.Context(), []forge.Watched{{Number: 1, Since: since}}))(t)
	}
	mark := poll("")[0].Mark
	reviews = append(reviews, object{"id": 7, "state": "COMMENT", "body": "look", "user": object{"login": "rob"},
		"submitted_at": at})
	if got := poll(mark); len(got) != 1 || len(got[0].Comments) != 1 {
		t.Errorf("it is told of %+v", got)
	}
}
