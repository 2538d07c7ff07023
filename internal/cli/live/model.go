package live

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session/attention"
)

// deed is what a key does with the session or the phase under the cursor: the words of an ordinary command.
type deed struct {
	key, word      string
	session, phase string // "" if it can't be done with one
	live           string // with a session that has not ended, if that is another
	asks           string // what to type first: it becomes the last argument
	sure           string // where the command itself does not ask: what it is about to do
	back           bool   // there is nothing to read afterwards
}

// id and text stand in a deed's words for what they are.
const id, text = "ID", "TEXT"

var deeds = []deed{
	{key: "enter", word: "attach", session: "box logs ID", live: "box attach ID", phase: "cruise logs ID --follow",
		back: true},
	{key: "d", word: "diff", session: "box diff ID", phase: "cruise status ID"},
	{key: "o", word: "output", session: "box logs ID", phase: "cruise logs ID"},
	{key: "t", word: "take", session: "box pull ID"},
	{key: "a", word: "answer", session: "answer --detach -- ID TEXT", phase: "cruise fix ID --comment TEXT",
		asks: "Your answer"},
	{key: "s", word: "say", live: "box say -- ID TEXT", phase: "cruise fix ID --comment TEXT", asks: "Say"},
	{key: "g", word: "go on", session: "box push --detach --continue ID", phase: "cruise resume ID"},
	{key: "l", word: "later", session: "attention --later ID", phase: "attention --later ID", back: true},
	{key: "k", word: "kill", live: "box kill ID", phase: "cruise pause ID", sure: "End its agent"},
	{key: "x", word: "throw away", session: "box prune ID --force", phase: "cruise cleanup ID --force",
		sure: "Throw its work away"},
}

// command is what the list is left for.
type command struct {
	args []string
	back bool // at once
}

// model is the list as it is drawn.
type model struct {
	state
	repo  string // only what is of this repository; "" is all
	on    string // the id under the cursor, "" if that is no longer listed
	row   int    // where it is, or was
	news  string
	ask   *question
	leave *command

	wide, high int
	colour     bool
}

// question is what is typed before a deed is done. It is about what was under the cursor then.
type question struct {
	deed  deed
	about attention.Listed
	typed string
}

// Init is of tea.Model.
func (m *model) Init() tea.Cmd { return nil }

// Update is of tea.Model.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.wide, m.high = msg.Width, msg.Height
	case state:
		m.take(msg)
	case tea.PasteMsg:
		if m.ask != nil && m.ask.deed.asks != "" {
			m.ask.typed += msg.Content
		}
	case tea.KeyPressMsg:
		m.news = ""
		asked := m.ask != nil
		if m.press(msg.String(), msg.Text); m.leave != nil || !asked && slices.Contains(leaving, msg.String()) {
			return m, tea.Quit
		}
	}
	return m, nil
}

// leaving are the keys that end the list.
var leaving = []string{"q", "esc", "ctrl+c", "ctrl+d"}

// take takes a new state. The cursor stays on what it was on; if that is gone it is on nothing, so that no key is for
// something else than was drawn.
func (m *model) take(st state) {
	if st.list == nil {
		st.list = m.list // what can't be read now may still be true
	}
	begin := m.list == nil
	m.state = st
	rows := m.rows()
	if at := m.find(rows, m.on); at >= 0 {
		m.row = at
	} else if begin {
		m.move(rows, 0)
	} else if m.on != "" {
		m.on, m.news = "", m.on+" is no longer listed"
	}
}

func (m *model) find(rows []attention.Listed, id string) int {
	return slices.IndexFunc(rows, func(l attention.Listed) bool { return l.ID == id })
}

// rows are those that are listed.
func (m *model) rows() []attention.Listed {
	return slices.DeleteFunc(slices.Clone(m.list), func(l attention.Listed) bool {
		return m.repo != "" && m.repoOf(l) != m.repo
	})
}

// repoOf names a repository: phases know it only by its path.
func (m *model) repoOf(l attention.Listed) string {
	if l.Key != "" {
		return l.Key
	}
	for _, other := range m.list {
		if other.Repo == l.Repo && other.Key != "" {
			return other.Key
		}
	}
	return l.Repo
}

// narrow lists one repository alone, by its key or its path, if anything is of it.
func (m *model) narrow(names ...string) {
	for _, l := range m.list {
		if name := m.repoOf(l); slices.Contains(names, name) {
			m.repo = name
			m.move(m.rows(), 0)
			return
		}
	}
}

// nextRepo lists the next repository alone, and behind the last of them all.
func (m *model) nextRepo() {
	all := []string{""}
	for _, l := range m.list {
		all = append(all, m.repoOf(l))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	at, _ := slices.BinarySearch(all, m.repo)
	m.repo = all[(at+1)%len(all)]
	m.move(m.rows(), max(0, m.find(m.rows(), m.on)))
}

func (m *model) move(rows []attention.Listed, to int) {
	m.row, m.on = max(0, min(to, len(rows)-1)), ""
	if len(rows) > 0 {
		m.on = rows[m.row].ID
	}
}

// press does what a key is for.
func (m *model) press(key, typed string) {
	if m.ask != nil {
		m.reply(key, typed)
		return
	}
	rows := m.rows()
	switch page := max(1, m.high/2); key {
	case "up":
		m.move(rows, m.row-1)
	case "down":
		if m.on != "" { // what has come into the place of a row that is gone is the next
			m.row++
		}
		m.move(rows, m.row)
	case "pgup":
		m.move(rows, m.row-page)
	case "pgdown":
		m.move(rows, m.row+page)
	case "home":
		m.move(rows, 0)
	case "end":
		m.move(rows, len(rows))
	case "r":
		m.nextRepo()
	}
	at := slices.IndexFunc(deeds, func(d deed) bool { return d.key == key })
	if at < 0 {
		return
	}
	d, on := deeds[at], m.find(rows, m.on)
	switch {
	case on < 0:
		m.news = "choose one first, with the arrow keys"
	case d.words(rows[on]) == "":
		m.news = "`" + d.word + "` is for sessions"
		if d.live != "" {
			m.news = "nothing of session " + rows[on].ID + " is running"
		}
	case d.asks != "", d.sure != "":
		m.ask = &question{deed: d, about: rows[on]}
	default:
		m.do(d, rows[on], "")
	}
}

// reply takes a key of an answer.
func (m *model) reply(key, typed string) {
	q := m.ask
	switch {
	case key == "esc", key == "ctrl+c":
		m.ask = nil
	case q.deed.asks == "":
		m.ask = nil
		if key == "y" {
			m.do(q.deed, q.about, "")
		}
	case key == "enter":
		m.ask = nil
		if strings.TrimSpace(q.typed) != "" {
			m.do(q.deed, q.about, q.typed)
		}
	case key == "backspace":
		letters := []rune(q.typed)
		q.typed = string(letters[:max(0, len(letters)-1)])
	default:
		q.typed += typed
	}
}

func (d deed) words(l attention.Listed) string {
	switch {
	case l.Phase:
		return d.phase
	case d.live != "" && l.Live:
		return d.live
	}
	return d.session
}

// do leaves the list for a command.
func (m *model) do(d deed, l attention.Listed, typed string) {
	words := d.words(l)
	c := &command{back: d.back && (d.live == "" || words != d.session)}
	for word := range strings.FieldsSeq(words) {
		switch word {
		case id:
			word = l.ID
		case text:
			word = safetext.Text(typed)
		}
		c.args = append(c.args, word)
	}
	m.leave = c
}
