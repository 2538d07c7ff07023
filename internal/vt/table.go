package vt

import (
	"slices"
	"strings"
)

// These tables list the bytes of a box that may reach a terminal. Everything else is left out: docs/security.md has the
// reasons. Queries pass only while somebody can take their answers to the agent.

// csi is a kind of control sequence that may pass.
type csi struct {
	prefix byte
	inter  string
	finals string
	query  bool
	only   []int // the first param must be one of these; 0 also stands for none
	most   int   // how many params it may have; 0 for any number
}

var sequences = []csi{
	{finals: "@ABCDEFGHIJKLMPSXZ`abdefgmr"},
	{finals: "T", most: 1},         // with five params xterm waits for a mouse
	{finals: "su", only: []int{0}}, // with params they are something else
	{finals: "hl", only: []int{4}}, // insert; others lock the keyboard or make it echo
	{finals: "n", query: true, only: []int{5, 6}},
	{finals: "c", query: true, only: []int{0}},
	{finals: "t", query: true, only: []int{14, 16, 18}}, // sizes; not the title, which would come back as keys
	{inter: "$", finals: "p", query: true},
	{inter: " ", finals: "q"},
	{inter: "!", finals: "p"},
	{prefix: '?', finals: "hl"}, // and see modes
	{prefix: '?', finals: "JK"},
	{prefix: '?', finals: "n", query: true, only: []int{6, 996}},
	{prefix: '?', finals: "um", query: true},
	{prefix: '?', inter: "$", finals: "p", query: true},
	{prefix: '>', finals: "cq", query: true, only: []int{0}},
	{prefix: '>', finals: "u"},
	{prefix: '>', finals: "m", only: []int{4}},
	{prefix: '<', finals: "u"},
	{prefix: '=', finals: "u"},
	{prefix: '=', finals: "c", query: true, only: []int{0}},
}

func (c csi) allows(t token) bool {
	if c.prefix != t.prefix || c.inter != t.inter || strings.IndexByte(c.finals, t.final) < 0 {
		return false
	}
	list := t.numbers()
	first := 0
	if len(list) > 0 {
		first = max(0, list[0])
	}
	return (c.only == nil || slices.Contains(c.only, first)) && (c.most == 0 || len(list) <= c.most)
}

// modes are the private modes that may be set and reset, and their state when the terminal is given back.
var modes = map[int]byte{
	1:    'l', // cursor keys
	5:    'l', // reverse video
	6:    'l', // origin
	7:    'h', // autowrap
	9:    'l', // mouse, as are the next ones
	1000: 'l', 1002: 'l', 1003: 'l', 1005: 'l', 1006: 'l', 1015: 'l', 1016: 'l',
	12: 0,                   // blinking; the cursor's style restores it
	25: 'h',                 // cursor
	47: 0, 1047: 0, 1049: 0, // alternate screen, see Restore
	66:   'l', // keypad
	1004: 'l', // focus
	1048: 0,   // saved cursor
	2004: 'l', // bracketed paste
	2026: 'l', // synchronized output
	2031: 'l', // reports of a colour scheme
	2048: 'l', // reports of sizes
}

// escapes are the plain escape sequences that may pass, intermediates and final.
var escapes = []string{"7", "8", "=", ">", "D", "E", "H", "M", "(0", "(A", "(B", ")0", ")A", ")B"}

// controls are those of the first 32 that may pass. ENQ is not among them: terminals answer it with a set text.
const controls = "\a\b\t\n\v\f\r\x0e\x0f"

// osc is a kind of operating system command that may pass.
type osc struct {
	number string
	query  bool // if its text ends in "?"
	most   int
	text   func(string) bool // checks the text after the number; nil allows anything visible
}

var commands = []osc{
	{number: "0", most: 1024}, {number: "1", most: 1024}, {number: "2", most: 1024}, // titles
	{number: "4", query: true, most: 4096}, // colours, as are the next ones
	{number: "10", query: true, most: 256}, {number: "11", query: true, most: 256}, {number: "12", query: true, most: 256},
	{number: "104", most: 1024}, {number: "110", most: 0}, {number: "111", most: 0}, {number: "112", most: 0},
	{number: "8", most: 4096, text: isWebLink},
	{number: "9", most: 16, text: isProgress},
	{number: "52", most: maxString, text: writesClipboard}, // only if the user wants it
}

// isWebLink allows links that a browser opens. Others can name files and programs of the host.
func isWebLink(text string) bool {
	_, target, ok := strings.Cut(text, ";")
	return ok && (target == "" || strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "http://"))
}

// isProgress allows a progress bar. The other commands of this number show notices, or in one terminal run programs.
func isProgress(text string) bool {
	return strings.HasPrefix(text, "4;") && strings.Trim(text, "0123456789;") == ""
}

// writesClipboard refuses queries for the clipboard's content: that is the user's and may be a password.
func writesClipboard(text string) bool {
	where, data, ok := strings.Cut(text, ";")
	return ok && strings.Trim(where, "cpqs01234567") == "" && data != "?" && strings.IndexFunc(data, notBase64) < 0
}

func notBase64(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '/' && r != '='
}

// isDeviceQuery allows device control strings that ask for a capability or a setting. The letters and signs that name
// settings do no harm in any terminal, even if it sends them back.
func isDeviceQuery(text string) bool {
	if names, ok := strings.CutPrefix(text, "+q"); ok {
		return len(names) <= 1024 && strings.Trim(names, "0123456789abcdefABCDEF;") == ""
	}
	return slices.Contains([]string{"$qm", "$qr", "$q q", `$q"p`, `$q"q`, "$qs", "$qt"}, text)
}
