package session

import (
	"context"
	"strings"
	"unicode"
)

// SaidLater is a keeper's answer to words that it types at its agent's next turn.
const SaidLater = "at its next turn"

// Say types words into the terminal of a session's agent. Later says that it does not listen before its next turn.
func (s *Service) Say(ctx context.Context, id, text string) (later bool, err error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return false, err
	}
	// A terminal spells the end of a line like Enter, which within a paste enters nothing.
	words := strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '\r'
		case r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "")))
	switch {
	case strings.TrimSpace(words) == "":
		return false, &UsageError{Msg: "there is nothing to say"}
	case len(words) > maxAnswer:
		return false, &UsageError{Msg: "that is too long: put it into a file of the repository and name that"}
	case !rec.Live():
		return false, &StateError{ID: id, State: rec.State, Why: "nothing of it is running; `cco box push --continue " + id +
			" -m TEXT` goes on with it"}
	case !s.OnTerminal(id):
		return false, &StateError{ID: id, State: rec.State, Why: "it has no terminal to type into; when it has ended, " +
			"`cco box push --continue " + id + " -m TEXT` goes on with it"}
	}
	answer, err := s.request(ctx, id, Request{Op: "say", Data: []byte(words)})
	if err == nil && answer != "" && answer != SaidLater {
		err = &StateError{ID: id, State: rec.State, Why: answer}
	}
	return answer == SaidLater, err
}
