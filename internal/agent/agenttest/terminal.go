package agenttest

import "strings"

// Terminal answers what programs ask a terminal, in the order in which they ask: an agent that hears what the terminal
// is before it hears of its keyboard takes it for one without.
type Terminal struct {
	Answers map[string]string
	heard   string
}

// Xterm is a terminal that knows kitty's keyboard protocol, and has not switched it on.
func Xterm() *Terminal {
	return &Terminal{Answers: map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62;22c", "\x1b[?u": "\x1b[?0u"}}
}

// Hear takes the next part of what a program writes, and gives the answers to the questions in it.
func (t *Terminal) Hear(part []byte) (answers string) {
	t.heard += string(part)
	for {
		at, asked, longest := len(t.heard), "", 0
		for question := range t.Answers {
			if i := strings.Index(t.heard, question); i >= 0 && i < at {
				at, asked = i, question
			}
			longest = max(longest, len(question))
		}
		if asked == "" {
			t.heard = t.heard[max(0, len(t.heard)-longest+1):] // a question may come in two parts
			return answers
		}
		answers += t.Answers[asked]
		t.heard = t.heard[at+len(asked):]
	}
}
