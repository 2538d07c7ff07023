package event

import (
	"encoding/json"
	"strconv"
	"strings"
)

// gemini reads what `gemini --output-format stream-json` writes.
type gemini struct {
	start   Start
	session string
	tools   names
	said    strings.Builder // words that came in pieces and are not yet a line
	answer  strings.Builder // all text since the last tool, uncut
	result  *geminiLine
	last    string
	turns   int
}

// NewGemini reads Gemini CLI's stream.
func NewGemini(s Start) Decoder { return &gemini{start: s, tools: names{}} }

type geminiLine struct {
	Type    string          `json:"type"`
	Session string          `json:"session_id"`
	Model   string          `json:"model"`
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Delta   bool            `json:"delta"`
	Tool    string          `json:"tool_name"`
	ID      string          `json:"tool_id"`
	Input   json.RawMessage `json:"parameters"`
	Status  string          `json:"status"`
	Output  string          `json:"output"`
	Message string          `json:"message"`
	Error   *struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	// Stats are those of the run, even if a session is resumed.
	Stats struct {
		Input  int64 `json:"input_tokens"` // all of it, with what came from the cache
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
		Total  int64 `json:"total_tokens"`
	} `json:"stats"`
}

func (g *gemini) Line(line []byte) []Event {
	var l geminiLine
	if !parse(line, &l) {
		if len(line) > 0 {
			g.last = clip(string(line))
		}
		return plainText(line)
	}
	if l.Type == "message" && l.Role == "assistant" && l.Delta {
		return g.piece(l.Content)
	}
	return append(g.flush(), g.whole(l, line)...)
}

func (g *gemini) whole(l geminiLine, line []byte) []Event {
	switch l.Type {
	case "init":
		g.session = sessionID(l.Session)
		return []Event{{Kind: KindStarted, Session: g.session, Model: clipName(l.Model)}}
	case "message":
		if l.Role != "assistant" {
			return nil // the prompt
		}
		g.keepAnswer(l.Content + "\n")
		return []Event{{Kind: KindText, Text: clip(l.Content)}}
	case "tool_use":
		g.turns++
		g.answer.Reset()
		g.tools.put(l.ID, l.Tool)
		e := Event{Kind: KindToolCall, ID: clipName(l.ID), Tool: clipName(l.Tool)}
		e.Input, e.Cut = clipInput(l.Input)
		return []Event{e}
	case "tool_result":
		return []Event{g.answered(l)}
	case "error":
		g.last = clip(l.Message)
		return []Event{{Kind: KindText, Text: g.last, IsError: true}}
	case "result":
		g.result = &l
		u := g.usage()
		return []Event{{Kind: KindUsage, Usage: &u}}
	}
	return unknown(line)
}

func (g *gemini) answered(l geminiLine) Event {
	e := Event{Kind: KindToolResult, ID: clipName(l.ID), Tool: g.tools.take(l.ID), Text: clip(l.Output),
		IsError: l.Status == "error"}
	if words, ok := denial(l.Output); ok && l.Error != nil && strings.HasPrefix(l.Output, "Tool execution blocked") {
		e.Kind, e.Text = KindDenied, clip(words)
	}
	return e
}

// piece joins pieces of text until there is a line.
func (g *gemini) piece(words string) []Event {
	g.keepAnswer(words)
	g.said.WriteString(words)
	if g.said.Len() > maxText {
		return g.flush()
	}
	all := g.said.String()
	i := strings.LastIndexByte(all, '\n')
	if i < 0 {
		return nil
	}
	g.said.Reset()
	g.said.WriteString(all[i+1:])
	return g.spoken(all[:i])
}

func (g *gemini) flush() []Event {
	all := g.said.String()
	g.said.Reset()
	return g.spoken(all)
}

func (g *gemini) spoken(text string) []Event {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []Event{{Kind: KindText, Text: clip(text)}}
}

// keepAnswer collects the text that the run may end with, uncut: part of a review is of no use.
func (g *gemini) keepAnswer(words string) {
	if g.answer.Len() <= maxText {
		g.answer.WriteString(words)
	}
}

var failedAttempt = pattern(`^Attempt ([0-9]{1,3}) failed(?: with status ([0-9]{3}))?`)

// geminiRetries is how often gemini asks again at most, for it asks ten times in all. For some models it gives up
// sooner, and it doesn't say for which.
const geminiRetries = 9

// ErrLine finds retries: gemini reports them only on standard error.
func (g *gemini) ErrLine(line []byte) []Event {
	text := string(line[:min(len(line), 4096)])
	if m := failedAttempt().FindStringSubmatch(text); m != nil && !strings.Contains(text, "Max attempts reached") {
		attempt, _ := strconv.Atoi(m[1])
		status, _ := strconv.Atoi(m[2])
		return []Event{{Kind: KindRetry, Text: clip(text), Retry: &Retry{Attempt: attempt, Max: geminiRetries, Bound: true,
			Status: status}}}
	}
	if !strings.HasPrefix(text, " ") && strings.Contains(text, "rror") {
		g.last = clip(text) // all there is if it ends without a result
	}
	return nil
}

func (g *gemini) usage() Usage {
	s := g.result.Stats
	cached := min(s.Cached, s.Input)
	u := Usage{Input: s.Input - cached, CacheRead: cached, Output: s.Output, Turns: g.turns + 1}
	if rest := s.Total - s.Input - s.Output; rest > 0 {
		u.Output += rest // thinking, which is paid for
	}
	return u
}

// End judges by the result. Its exit status is the HTTP status modulo 256 when the model failed, which looks like a
// signal.
func (g *gemini) End(exit int) Event {
	g.flush()
	f := byStatus(exit)
	switch {
	case g.result != nil && g.result.Error != nil:
		f.fail(g.result.Error.Message, 0, g.start.Now)
		if strings.Contains(g.result.Error.Type, "MaxSessionTurns") || exit == 53 {
			f.Outcome, f.Transient = Limit, false
		}
	case g.result != nil && exit == 0 && g.result.Status != "success":
		f.fail("it ended with "+clipName(g.result.Status), 0, g.start.Now)
	case g.result == nil && exit == 0:
		f = Finished{Outcome: Killed, Error: unfinished}
	case g.result == nil && exit > 0 && exit < 128 && g.last != "":
		f.fail(g.last, 0, g.start.Now)
	}
	f.Session, f.Text = g.session, clip(strings.TrimSpace(g.answer.String()))
	if g.result != nil {
		f.Usage = g.usage()
	}
	return finished(f)
}
