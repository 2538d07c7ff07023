package editor

import (
	"context"

	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// question is what the editor shows of the agent's question.
func question(rec store.Session) string {
	return safetext.Cut(safetext.Text(rec.Question), session.MaxQuestion)
}

// ask lets the user answer the agent's question: in a form, or where the editor has none with a yes or a no. Nothing is
// an answer in words, which the next prompt is.
func (t *talk) ask(ctx context.Context, rec store.Session) (answer string, err error) {
	if err := t.say(ctx, "The agent asks: %s", question(rec)); err != nil {
		return "", err
	}
	t.server.mu.Lock()
	forms := t.forms
	t.server.mu.Unlock()
	if !forms {
		answer, err = t.permit(ctx, "question", "The agent asks: "+safetext.Fit(safetext.Line(rec.Question), maxTitle),
			"Yes.", "No.")
		if err == nil && answer == "" {
			err = t.say(ctx, "It waits: your next message is the answer.")
		}
		return answer, err
	}
	var form struct {
		Action  string `json:"action"`
		Content struct {
			Answer string `json:"answer"`
		} `json:"content"`
	}
	err = t.peer.ask(ctx, elicitation, map[string]any{"sessionId": t.id, "mode": "form", "message": question(rec),
		"requestedSchema": map[string]any{"type": "object", "required": []string{"answer"},
			"properties": map[string]any{"answer": map[string]string{"type": "string", "title": "Your answer"}}}}, &form)
	if err == nil && form.Action != "accept" {
		return "", t.say(ctx, "It waits: your next message is the answer.")
	}
	return form.Content.Answer, err
}

// permit asks for one of several choices by the protocol's request for permission; "" is none of them. What an editor
// may be told to allow always must never be asked in this way.
func (t *talk) permit(ctx context.Context, what, title string, choices ...string) (string, error) {
	var options []map[string]string
	for i, c := range choices {
		kind := "allow_once"
		if i > 0 {
			kind = "reject_once"
		}
		options = append(options, map[string]string{"optionId": c, "name": c, "kind": kind})
	}
	options = append(options, map[string]string{"optionId": "not-now", "name": "Not now", "kind": "reject_once"})
	var got struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	err := t.peer.ask(ctx, permission, map[string]any{"sessionId": t.id, "options": options,
		"toolCall": map[string]any{"toolCallId": "cco-" + what, "title": title, "kind": "other", "status": "pending"}}, &got)
	for _, c := range choices {
		if err == nil && got.Outcome.Outcome == "selected" && got.Outcome.Option == c {
			return c, nil
		}
	}
	return "", err
}
