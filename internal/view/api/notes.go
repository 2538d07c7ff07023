package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/whole"
)

// Remark is a comment on a line of a change. It is kept until it is sent or removed.
type Remark struct {
	ID   string    `json:"id" doc:"of the comment"`
	At   time.Time `json:"at" doc:"when it was written"`
	File string    `json:"file" doc:"as it is named in the change"`
	Mark string    `json:"mark" doc:"of the file as it was seen"`
	Line int       `json:"line" doc:"its number, 0 is the file as a whole"`
	Old  bool      `json:"old,omitempty" doc:"the number is the one before the change"`
	Code string    `json:"code,omitempty" doc:"the line itself"`
	Text string    `json:"text" doc:"what is said of it"`
	Late bool      `json:"late,omitempty" doc:"the file has changed since"`
}

// notes are what a person has noted of a session's changes.
type notes struct {
	Seen    map[string]string `json:"seen,omitempty"` // the mark of each file as it was seen
	Remarks []Remark          `json:"remarks,omitempty"`
}

// The bodies of actions on notes.
type (
	// Mark says that a file was seen.
	Mark struct {
		File string `json:"file" doc:"as it is named in the change"`
		Mark string `json:"mark" doc:"of the file as it was seen"`
		On   bool   `json:"on" doc:"it was seen; false takes that back"`
	}
	// Unsay removes a comment.
	Unsay struct {
		Comment string `json:"comment" doc:"its id"`
	}
	// Send lets an agent go on with comments.
	Send struct {
		Comments []string `json:"comments" doc:"their ids"`
		Text     string   `json:"text,omitempty" doc:"what else to say"`
		Seen     string   `json:"seen" doc:"of the session as it was looked at"`
	}
)

func (d *Desk) notesFile(id string) string {
	return filepath.Join(filepath.Dir(d.LogFile), "notes", id+".json")
}

func (d *Desk) readNotes(id string) (n notes, err error) {
	data, err := os.ReadFile(d.notesFile(id))
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	return n, err
}

// Bounds on notes.
const (
	mostRemarks = 200
	mostSeen    = 2000
	mostRemark  = 8 << 10
)

// note changes the notes of a session that there is.
func (d *Desk) note(ctx context.Context, id string, change func(*notes) error) error {
	if _, err := d.Sessions.Get(ctx, id); err != nil {
		return err
	}
	d.noting.Lock()
	defer d.noting.Unlock()
	n, err := d.readNotes(id)
	if err == nil {
		err = change(&n)
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(n)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(d.notesFile(id)), 0o700)
	}
	if err != nil {
		return err
	}
	return whole.Write(d.notesFile(id), data, 0o600)
}

func markSeen(ctx context.Context, j *job, in Mark) error {
	return j.note(ctx, j.id, func(n *notes) error {
		switch {
		case !in.On:
			delete(n.Seen, in.File)
			return nil
		case len(n.Seen) >= mostSeen || len(in.File)+len(in.Mark) > mostRemark || in.Mark == "":
			return app.Usagef("this can't be marked")
		case n.Seen == nil:
			n.Seen = map[string]string{}
		}
		n.Seen[in.File] = in.Mark
		return nil
	})
}

func remark(ctx context.Context, j *job, in Remark) error {
	in.Text = strings.TrimSpace(in.Text)
	return j.note(ctx, j.id, func(n *notes) error {
		switch {
		case in.Text == "" || in.File == "" || in.Mark == "" || in.Line < 0:
			return app.Usagef("a comment needs words, a file, its mark and a line")
		case len(in.File)+len(in.Code)+len(in.Text)+len(in.Mark) > mostRemark:
			return app.Usagef("a comment has %d bytes at most", mostRemark)
		case len(n.Remarks) >= mostRemarks:
			return app.Usagef("there are no more than %d comments at once: send them", mostRemarks)
		}
		in.ID, in.At, in.Late = session.NewID(), j.Now().UTC(), false
		n.Remarks = append(n.Remarks, in)
		j.say("%s", in.ID)
		return nil
	})
}

func unsay(ctx context.Context, j *job, in Unsay) error {
	return j.note(ctx, j.id, func(n *notes) error {
		n.Remarks = slices.DeleteFunc(n.Remarks, func(c Remark) bool { return c.ID == in.Comment })
		return nil
	})
}

// sendRemarks is `cco box push --continue -m` with all comments in one message; for a session of a phase, `cco cruise
// fix --comment`.
func sendRemarks(ctx context.Context, j *job, in Send) error {
	id := j.id
	n, err := j.readNotes(id)
	if err != nil {
		return err
	}
	var words []string
	for _, want := range in.Comments {
		i := slices.IndexFunc(n.Remarks, func(c Remark) bool { return c.ID == want })
		if i < 0 {
			return &session.StateError{ID: id, Why: changed}
		}
		words = append(words, n.Remarks[i].words())
	}
	if len(words) == 0 {
		return app.Usagef("which comments?")
	}
	text := "Go on with these comments on your changes.\n\n" + strings.Join(words, "\n")
	if more := strings.TrimSpace(in.Text); more != "" {
		text += "\n\n" + more
	}
	v, err := j.sessions.Get(ctx, id)
	if err != nil {
		return err
	}
	if order, wrong := j.sessions.ReadOrder(id); wrong == nil && order.Phase != "" {
		j.id = order.Phase
		err = send(ctx, j, cruise.Event{Kind: cruise.EventComment, Text: text}, "looks now")
	} else {
		if v.Title != "" { // which it keeps: the first line of what is said is its title from then on
			text = "# " + v.Title + "\n\n" + text
		}
		err = goOn(ctx, j, GoOn{Text: text})
	}
	if err != nil {
		return err
	}
	return j.note(ctx, id, func(n *notes) error {
		n.Remarks = slices.DeleteFunc(n.Remarks, func(c Remark) bool { return slices.Contains(in.Comments, c.ID) })
		return nil
	})
}

// words are those of a comment for an agent.
func (c Remark) words() string {
	at := c.File
	if c.Line > 0 {
		at += fmt.Sprintf(", line %d", c.Line)
	}
	if c.Old {
		at += " before your change"
	}
	if c.Code != "" {
		at += fmt.Sprintf(" (%s)", strings.TrimSpace(c.Code))
	}
	return "- " + at + ": " + strings.ReplaceAll(c.Text, "\n", "\n  ")
}

// noted adds to changes what was noted of them.
func (d *Desk) noted(id string, out *Changes) error {
	n, err := d.readNotes(id)
	is := map[string]string{}
	for _, f := range out.Files {
		if is[f.Path] = f.Mark; f.Mark != "" && n.Seen[f.Path] == f.Mark {
			out.Marked = append(out.Marked, f.Path)
		}
	}
	for _, c := range n.Remarks {
		c.Late = is[c.File] != c.Mark
		out.Remarks = append(out.Remarks, c)
	}
	return err
}
