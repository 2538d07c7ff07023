package forge_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

func comment(kind forge.CommentKind, id int64, body string) forge.Comment {
	return forge.Comment{ID: forge.ID(kind, id), Kind: kind, Body: body, Created: time.Unix(id, 0)}
}

func TestMarkTellsOnlyWhatIsNew(t *testing.T) {
	seen := must.Get(forge.Mark("").Seen())(t)
	all := []forge.Comment{comment(forge.OnLine, 3_000_000_007, "three"), comment(forge.OnPull, 5, "one"),
		comment(forge.InReview, 5, "two")}
	news, err := seen.Take(all)
	if err != nil || len(news) != 3 || news[0].Body != "one" {
		t.Fatalf("%+v %v", news, err)
	}
	again, err := seen.Mark().Seen()
	if diff := cmp.Diff(len(seen), len(again)); err != nil || diff != "" {
		t.Fatalf("%s %v", diff, err)
	}
	all[0].Body, all[0].State = "three, edited", forge.ThreadResolved
	all[1].State = "whatever"
	all = append(all, comment(forge.OnPull, 6, "four"))
	news, err = again.Take(all)
	if diff := cmp.Diff([]string{"four", "three, edited"}, []string{news[0].Body, news[1].Body}); err != nil ||
		len(news) != 2 || diff != "" || !news[1].Edited || news[0].Edited {
		t.Errorf("%+v %v", news, err)
	}
	if gone := again.Gone(all[1:]); len(gone) != 1 || gone[0] != "line-3000000007" || len(again) != 3 {
		t.Errorf("gone: %v", gone)
	}
}

func TestMarkTellsOfAnApprovalThatIsTakenBack(t *testing.T) {
	seen := must.Get(forge.Mark("").Seen())(t)
	r := comment(forge.InReview, 1, "")
	for _, step := range []struct {
		state forge.CommentState
		told  int
	}{{forge.ReviewApproved, 1}, {forge.ReviewApproved, 0}, {forge.ReviewDismissed, 1}, {forge.ReviewDismissed, 0}} {
		r.State = step.state
		if news, err := seen.Take([]forge.Comment{r}); err != nil || len(news) != step.told {
			t.Errorf("%s: %+v %v", step.state, news, err)
		}
	}
	empty := comment(forge.InReview, 2, "")
	empty.State = forge.ReviewCommented
	if news, _ := seen.Take([]forge.Comment{empty}); len(news) != 0 || len(seen) != 2 {
		t.Errorf("a review that says nothing is told: %+v", news)
	}
}

func TestMarksAreSmallAndDamageIsAnError(t *testing.T) {
	seen := must.Get(forge.Mark("").Seen())(t)
	var all []forge.Comment
	for i := range int64(3000) {
		all = append(all, comment(forge.OnPull, 3_000_000_000+i*900_000, fmt.Sprint(i)))
	}
	must.Get(seen.Take(all))(t)
	mark := seen.Mark()
	if len(mark) > 48<<10 {
		t.Errorf("a mark of 3,000 comments has %d bytes", len(mark))
	}
	for _, bad := range []forge.Mark{"x", "1.", "1.!!", "2." + mark[2:], mark[:len(mark)-3], mark[:20]} {
		if _, err := bad.Seen(); err == nil {
			t.Errorf("%.20s… was taken", bad)
		}
	}
	if _, err := seen.Take([]forge.Comment{{ID: "nonsense"}}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("nonsense was taken: %v", err)
	}
}

func FuzzMark(f *testing.F) {
	f.Add("1.AAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, s string) {
		seen, err := forge.Mark(s).Seen()
		if err != nil {
			return
		}
		if again, err := seen.Mark().Seen(); err != nil || again.Mark() != seen.Mark() {
			t.Errorf("%q is read and not written back: %v", s, err)
		}
	})
}
