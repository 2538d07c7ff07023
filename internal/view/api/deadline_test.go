package api

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlines notes those that are set while something is answered.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error { d.set = append(d.set, t); return nil }

// Guards against an answer that a reader who never reads holds up for ever, and against a deadline that is still set
// when the connection brings the next one.
func TestAnAnswerHasADeadlineOfItsOwn(t *testing.T) {
	d := &Desk{Now: time.Now}
	for _, path := range []string{"/me", "/sessions/00000000/search"} {
		w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		d.Class = func(error) int { return 2 }
		d.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, Prefix+path, nil))
		if len(w.set) < 2 || w.set[0].IsZero() || !w.set[len(w.set)-1].IsZero() {
			t.Errorf("%s gives %d, and sets %v", path, w.Code, w.set)
		}
	}
}
