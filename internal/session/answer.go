package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// maxAnswer bounds an answer: it travels as an argument of the agent's program.
const maxAnswer = 64 << 10

// MaxQuestion bounds what a person is asked.
const MaxQuestion = 16 << 10

// asks reads a session and makes sure that it has an unanswered question.
func (s HandOff) asks(ctx context.Context, id string) (store.Session, error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return rec, err
	}
	if rec.State != store.Waiting && (rec.State != store.Pulled || rec.Question == "") {
		return rec, &StateError{ID: id, State: rec.State, Why: "it has asked nothing, see `cco attention`"}
	}
	return rec, nil
}

// Answer gives an agent the answer to its question: the conversation goes on with it. The answer is only written when
// it is known to be wanted. Live says that the agent was still running and needed no new run.
func (s HandOff) Answer(ctx context.Context, id string, write func(question string) (string, error),
	o PushOptions) (rec store.Session, live bool, err error) {
	if rec, err = s.asks(ctx, id); err != nil {
		return rec, false, err
	}
	text, err := write(rec.Question)
	text = strings.TrimSpace(text)
	switch {
	case err != nil:
		return rec, false, err
	case text == "":
		return rec, false, &UsageError{Msg: "the answer is empty"}
	case len(text) > maxAnswer:
		return rec, false, &UsageError{Msg: "the answer is too long: put it into a file of the repository and name that"}
	case strings.ContainsRune(text, 0):
		return rec, false, &UsageError{Msg: "the answer holds a NUL"}
	}
	asked := rec
	if rec, err = s.asks(ctx, id); err != nil { // writing takes time
		return rec, false, err
	}
	if rec.Question != asked.Question || !rec.Asked.Equal(asked.Asked) {
		return rec, false, &StateError{ID: id, State: rec.State, Why: "it asks something else by now"}
	}
	if rec.Live() {
		return rec, true, s.deliverAnswer(rec, text)
	}
	// It keeps its agent and model, even if the settings have changed.
	o.Agent, o.Model, o.Interactive = rec.Agent, rec.Model, false
	if was, err := s.ReadOrder(rec.ID); err == nil {
		o.Budget = was.Budget
	}
	rec, err = s.StartAgain(ctx, rec, o, func(order *Order, _ *git.Repo) error {
		order.Prompt, order.Asked = answerPrompt(rec.Question, text), rec.Question
		return nil
	})
	return rec, false, err
}

// deliverAnswer gives the answer to an agent that is still running and looks for it.
func (s HandOff) deliverAnswer(rec store.Session, text string) error {
	if s.OnTerminal(rec.ID) {
		return &StateError{ID: rec.ID, State: rec.State, Why: "it has a terminal, answer there: `cco box say " +
			rec.ID + " TEXT`, or `cco box attach " + rec.ID + "`"}
	}
	if _, err := os.Lstat(filepath.Join(s.Exchange(rec.ID), inside.AnswerFile)); !errors.Is(err, os.ErrNotExist) {
		return &StateError{ID: rec.ID, State: rec.State, Why: "it was answered already, and has not taken it yet"}
	}
	data, err := s.ReadOut(rec.ID, inside.QuestionFile, MaxQuestion)
	if err != nil || CleanLines(string(data)) != rec.Question {
		return &StateError{ID: rec.ID, State: rec.State, Why: "it asks something else by now"}
	}
	return whole.Write(filepath.Join(s.Exchange(rec.ID), inside.AnswerFile), []byte(text+"\n"), 0o644) // for the agent
}

// answerPrompt repeats the question: the run that asked may have been ended before its CLI had written it down.
func answerPrompt(question, answer string) string {
	var b strings.Builder
	b.WriteString("You asked:\n\n")
	for line := range strings.Lines(question) {
		b.WriteString("> " + strings.TrimRight(line, "\n") + "\n")
	}
	b.WriteString("\nThe answer is:\n\n" + answer + "\n\nGo on with the plan.")
	return b.String()
}
