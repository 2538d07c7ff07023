package vt

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Key is a letter or sign that is pressed together with Ctrl, and nothing else.
type Key byte

// IsEscape says whether input is the key Escape alone, in the old spelling or in kitty's.
func IsEscape(input []byte) bool {
	return len(input) > 0 && (strings.Trim(string(input), "\x1b") == "" || strings.HasPrefix(string(input), "\x1b[27u") ||
		strings.HasPrefix(string(input), "\x1b[27;"))
}

// CtrlC interrupts.
const CtrlC Key = 'c'

// ParseKey reads a key as people write it: ctrl-], ctrl-q.
func ParseKey(text string) (Key, error) {
	name, ok := strings.CutPrefix(strings.ToLower(text), "ctrl-")
	if !ok || len(name) != 1 || (name[0] < 'a' || name[0] > 'z') && name != "]" && name != `\` {
		return 0, errors.New(`want "ctrl-" and a letter, ] or \`)
	}
	if taken := map[string]string{"c": "interrupts", "h": "is Backspace", "i": "is Tab", "j": "is Enter",
		"m": "is Enter"}[name]; taken != "" {
		return 0, fmt.Errorf("ctrl-%s %s", name, taken)
	}
	return Key(name[0]), nil
}

// String is the key as help shows it.
func (k Key) String() string { return "Ctrl-" + strings.ToUpper(string(rune(k))) }

// legacy is the byte that a plain terminal sends for the key.
func (k Key) legacy() byte { return byte(k) & 0x1f }

// Keys reads a terminal's input: keys, in the old spelling, in xterm's and in kitty's, pastes and answers.
type Keys struct {
	Watch []Key

	state keyState
	held  []byte // an incomplete sequence
	paste bool
}

type keyState byte

const (
	keyGround keyState = iota
	keyEscape
	keyCSI
	keyString
)

// Typed is a piece of the input: its bytes, and the key that they are if that key is watched for.
type Typed struct {
	Bytes []byte
	Key   Key // 0 for any other
}

const pasteEnd = "\x1b[201~"

// Read splits bytes into keys. It holds the beginning of a key until the rest comes, or until Flush.
func (k *Keys) Read(p []byte) (typed []Typed) {
	plain := func(b ...byte) {
		if n := len(typed); n > 0 && typed[n-1].Key == 0 {
			typed[n-1].Bytes = append(typed[n-1].Bytes, b...)
			return
		}
		typed = append(typed, Typed{Bytes: bytes.Clone(b)})
	}
	if len(k.Watch) == 0 {
		return []Typed{{Bytes: bytes.Clone(p)}}
	}
	for _, b := range p {
		if k.paste {
			k.inPaste(b, plain)
			continue
		}
		if b < 0x20 && b != esc || k.state == keyGround && b != esc {
			plain(k.takeHeld()...)
			if key := k.plainKey(b); key != 0 {
				typed = append(typed, Typed{Bytes: []byte{b}, Key: key})
			} else {
				plain(b)
			}
			continue
		}
		if b == esc {
			plain(k.takeHeld()...)
			k.state = keyEscape
			k.held = append(k.held, b)
			continue
		}
		if !k.more(b) {
			continue
		}
		bytes := k.takeHeld()
		if key := k.sequenceKey(bytes); key != 0 {
			typed = append(typed, Typed{Bytes: bytes, Key: key})
			continue
		}
		k.paste = string(bytes) == "\x1b[200~"
		plain(bytes...)
	}
	return typed
}

// takeHeld returns the held bytes and begins anew.
func (k *Keys) takeHeld() []byte {
	held := k.held
	k.held, k.state = nil, keyGround
	return held
}

// Patience is how long to wait for the rest before Flush, 0 if nothing is held. A person may have pressed Escape alone,
// or Alt and a key, and waits for its effect; for a longer sequence the terminal will send the rest. A paste that
// pauses for longer has lost its end, or never had one, and must not hide the watched keys.
func (k *Keys) Patience() time.Duration {
	switch {
	case k.paste:
		return 2 * time.Second
	case len(k.held) == 0:
		return 0
	case len(k.held) <= 2:
		return 50 * time.Millisecond
	}
	return time.Second
}

// Flush returns the held bytes, and ends the wait for more.
func (k *Keys) Flush() []byte {
	k.paste = false
	return k.takeHeld()
}

// more adds a byte to a sequence and says whether the sequence is complete.
func (k *Keys) more(b byte) bool {
	k.held = append(k.held, b)
	switch k.state {
	case keyEscape:
		switch b {
		case '[':
			k.state = keyCSI
		case ']', 'P', '_', '^', 'X':
			k.state = keyString // an answer, which ends with ESC \ or BEL; or the key with Alt, which Flush returns
		default:
			return true
		}
		return false
	case keyString:
		return len(k.held) >= maxAnswer
	}
	return b >= 0x40 || len(k.held) >= maxSequence
}

// maxAnswer is how much of an answer is held before it is passed on in parts.
const maxAnswer = 4096

// inPaste passes everything and looks only for the end.
func (k *Keys) inPaste(b byte, plain func(...byte)) {
	k.held = append(k.held, b)
	for len(k.held) > 0 && !strings.HasPrefix(pasteEnd, string(k.held)) {
		plain(k.held[0])
		k.held = k.held[1:]
	}
	if string(k.held) == pasteEnd {
		plain(k.takeHeld()...)
		k.paste = false
	}
}

func (k *Keys) plainKey(b byte) Key {
	for _, w := range k.Watch {
		if w.legacy() == b && b < 0x20 {
			return w
		}
	}
	return 0
}

// sequenceKey reads CSI code:shifted:base;modifiers:event;text u and CSI 27;modifiers;code ~.
func (k *Keys) sequenceKey(seq []byte) Key {
	body, ok := bytes.CutPrefix(seq, []byte("\x1b["))
	if !ok || len(body) == 0 {
		return 0
	}
	final := body[len(body)-1]
	fields := strings.Split(string(body[:len(body)-1]), ";")
	var codes, mods []string
	switch {
	case final == 'u' && len(fields) >= 2:
		codes, mods = strings.Split(fields[0], ":"), strings.Split(fields[1], ":")
	case final == '~' && len(fields) == 3 && fields[0] == "27":
		codes, mods = fields[2:], fields[1:2]
	default:
		return 0
	}
	if !onlyCtrl(mods[0]) || len(mods) > 1 && mods[1] != "" && mods[1] != "1" {
		return 0
	}
	for _, w := range k.Watch {
		// The key itself, or the one in its place on a keyboard with another alphabet.
		if isCode(codes[0], w) || len(codes) > 2 && isCode(codes[2], w) {
			return w
		}
	}
	return 0
}

// isCode accepts a letter in both cases: with Caps Lock, xterm sends the other one.
func isCode(text string, k Key) bool {
	n, err := strconv.Atoi(text)
	return err == nil && (n == int(k) || k >= 'a' && n == int(k)-'a'+'A')
}

// onlyCtrl says whether Ctrl is the only modifier that is down, whichever locks are on.
func onlyCtrl(text string) bool {
	const ctrl, locks = 4, 64 | 128
	n, err := strconv.Atoi(text)
	return err == nil && n > 0 && (n-1)&^locks == ctrl
}
