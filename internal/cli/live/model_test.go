package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/cco-dev/cco/internal/session/attention"
)

func listed(id string, kind attention.NeedKind) attention.Listed {
	need := attention.Need{ID: id, Kind: kind, Since: time.Now(), Repo: "/r", Title: "Title of " + id}
	return attention.Listed{Need: need, Live: true}
}

func with(ids ...string) *model {
	m := &model{wide: 80, high: 24}
	m.take(of(ids...))
	return m
}

func of(ids ...string) (st state) {
	for _, id := range ids {
		st.list = append(st.list, listed(id, attention.NeedPull))
	}
	return st
}

// press presses keys as a terminal sends them, and gives the command that the list is left for.
func press(m *model, keys ...string) string {
	for _, k := range keys {
		key := tea.Key{Text: k}
		switch k {
		case "enter":
			key = tea.Key{Code: tea.KeyEnter}
		case "esc":
			key = tea.Key{Code: tea.KeyEscape}
		case "backspace":
			key = tea.Key{Code: tea.KeyBackspace}
		case "up":
			key = tea.Key{Code: tea.KeyUp}
		case "down":
			key = tea.Key{Code: tea.KeyDown}
		}
		m.Update(tea.KeyPressMsg(key))
	}
	if m.leave == nil {
		return ""
	}
	return strings.Join(m.leave.args, "|")
}

// Guards against a key that is for another session than the one that was drawn under the cursor.
func TestAKeyIsForWhatWasDrawn(t *testing.T) {
	m := with("a", "b", "c")
	press(m, "down")
	m.take(of("x", "y", "b", "a"))
	if m.on != "b" || m.row != 2 {
		t.Errorf("the cursor is on %q at %d", m.on, m.row)
	}
	press(m, "k")
	m.take(of("x", "a"))
	if got := press(m, "y"); got != "box|kill|b" { // it was asked about that
		t.Errorf("%q", got)
	}
	m.leave = nil
	if got := press(m, "t"); got != "" || !strings.Contains(m.news, "choose one") {
		t.Errorf("%q: %s", got, m.news)
	}
	m.take(of("x", "b", "a"))
	if m.on != "" {
		t.Errorf("the cursor is on %q, which nobody chose", m.on)
	}
	if press(m, "down"); m.on != "a" {
		t.Errorf("the cursor is on %q", m.on)
	}
}

// Guards against what is typed or pasted that does anything but answer what was asked, or that is taken for a flag.
func TestWhatIsTypedIsAnArgument(t *testing.T) {
	m := with("a")
	m.Update(tea.PasteMsg{Content: "kyq"})
	if m.leave != nil || m.ask != nil {
		t.Fatal("a paste pressed keys")
	}
	press(m, "s")
	m.Update(tea.PasteMsg{Content: "-f\x1b[31m q"})
	if got := press(m, "y", "!", "backspace", "q", "enter"); got != "box|say|--|a|-f�[31m qyq" {
		t.Errorf("%q", got)
	}
	m = with("a")
	if got := press(m, "a", "x", "esc"); got != "" || m.ask != nil {
		t.Errorf("%q: Escape does not leave it", got)
	}
	if got := press(m, "a", " ", "enter"); got != "" {
		t.Errorf("%q: nothing was typed", got)
	}
	if got := press(m, "k", "enter"); got != "" {
		t.Errorf("%q: nobody said yes", got)
	}
}

// Guards against an answer to a question that ends the list as well.
func TestAnAnswerDoesNotLeaveTheList(t *testing.T) {
	for keys, leaves := range map[string]bool{"q": true, "esc": true, "s esc": false, "k q": false, "k esc": false,
		"k n": false, "s q": false, "s esc q": true, "k q esc": true} {
		m, left := with("a"), false
		for _, k := range strings.Fields(keys) {
			key := tea.Key{Text: k}
			if k == "esc" {
				key = tea.Key{Code: tea.KeyEscape}
			}
			_, cmd := m.Update(tea.KeyPressMsg(key))
			left = cmd != nil
		}
		if left != leaves || m.leave != nil {
			t.Errorf("%s: left %v, for %v", keys, left, m.leave)
		}
	}
}

// Guards against titles that stand where a narrow terminal has ended.
func TestATitleIsSeenOnANarrowTerminal(t *testing.T) {
	for _, wide := range []int{40, 60, 80} {
		m := with("0a1b2c3d")
		m.wide = wide
		for line := range strings.Lines(m.View().Content) {
			line = strings.NewReplacer(bold, "", dim, "", inverse, "", plain, "").Replace(line)
			if at := strings.Index(line, "Title of"); at > wide-20 {
				t.Errorf("%d wide: the title begins at %d", wide, at)
			}
		}
	}
}

// Guards against keys that end in a command which is not there, and against a phase for which a session's is run.
func TestPhasesHaveCommandsOfTheirOwn(t *testing.T) {
	for key, want := range map[string]string{"enter": "cruise|logs|p|--follow", "d": "cruise|status|p", "t": "",
		"g": "cruise|resume|p", "l": "attention|--later|p"} {
		m := &model{}
		l := listed("p", attention.NeedAnswer)
		l.Phase = true
		m.take(state{list: []attention.Listed{l}})
		if got := press(m, key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// Guards against questions and commands that can only end with an error, because the session has ended.
func TestWhatHasEndedIsOnlyLookedAt(t *testing.T) {
	for _, live := range []bool{true, false} {
		for key, want := range map[string][2]string{"enter": {"box|logs|a", "box|attach|a"}, "k": {"", "box|kill|a"},
			"t": {"box|pull|a", "box|pull|a"}} {
			m := &model{}
			l := listed("a", attention.NeedPull)
			l.Live = live
			m.take(state{list: []attention.Listed{l}})
			at := map[bool]int{true: 1}[live]
			got := press(m, key)
			if m.ask != nil {
				got = press(m, "y")
			}
			if got != want[at] {
				t.Errorf("%s, live %v: %q, want %q", key, live, got, want[at])
			}
			if m.leave == nil != strings.Contains(m.news, "nothing of session a is running") {
				t.Errorf("%s, live %v: it says %q", key, live, m.news)
			}
			if key == "enter" && m.leave.back != live {
				t.Errorf("live %v: it comes back at once: %v", live, m.leave.back)
			}
		}
	}
}

// Guards against a repository that hides what waits elsewhere, and against phases, which know only its path.
func TestOneRepositoryIsListed(t *testing.T) {
	m := &model{}
	a, p, b := listed("a", attention.NeedPull), listed("p", attention.AtWork), listed("b", attention.NeedPull)
	a.Key, b.Repo, b.Key = "key", "/other", "else"
	m.take(state{list: []attention.Listed{a, p, b}})
	m.narrow("nothing", "/nowhere")
	if len(m.rows()) != 3 {
		t.Error("a repository without sessions hides all")
	}
	m.narrow("key", "/r")
	if rows := m.rows(); len(rows) != 2 || rows[1].ID != "p" {
		t.Errorf("%v", rows)
	}
	seen := map[int]int{}
	for range 3 {
		press(m, "r")
		seen[len(m.rows())]++
	}
	if seen[1] != 1 || seen[2] != 1 || seen[3] != 1 {
		t.Errorf("so many times so many: %v", seen)
	}
}

// Guards against words of an agent's that drive the terminal or take lines that are not theirs, and against a cursor
// out of sight.
func TestItIsDrawnInItsPlace(t *testing.T) {
	m := &model{wide: 60, high: 12}
	var st state
	for i := range 200 {
		l := listed(fmt.Sprintf("%08x", i), attention.NeedAnswer)
		l.Title, l.Words, l.Branch = "\x1b]0;x\a\nlines", "one\r\ntwo\x1b[2J\nthree\nfour", "b\nb"
		st.list = append(st.list, l)
	}
	m.take(st)
	for range 150 {
		press(m, "down")
	}
	v := m.View()
	text := strings.NewReplacer(bold, "", dim, "", inverse, "", plain, "").Replace(v.Content)
	if strings.ContainsAny(text, "\x1b\a\r") || !strings.Contains(text, "> 00000096 ") {
		t.Errorf("%q", text)
	}
	if n := strings.Count(v.Content, "\n"); n != m.high-1 || !v.AltScreen {
		t.Errorf("%d lines on a screen of %d", n+1, m.high)
	}
	m.high = 3 // as small as it may be, it stands
	m.View()
}

// Guards against an error that empties the list.
func TestWhatCannotBeReadStays(t *testing.T) {
	m := with("a")
	m.take(state{err: fmt.Errorf("the disk is\ngone")})
	if m.on != "a" || !strings.Contains(m.View().Content, "the disk is") {
		t.Error(m.View().Content)
	}
}
