package gate

import (
	"fmt"
	"slices"
)

// Kind is a kind of change, by what it can do.
type Kind string

// Danger says how bad the worst is that a change can do.
type Danger int

// The dangers.
const (
	Low    Danger = iota + 1 // read it
	Medium                   // read it before you build, test or merge
	High                     // read it before you do anything
)

var dangers = []string{"", "low", "medium", "high"}

func (d Danger) String() string { return dangers[d] }

// MarshalText gives the word.
func (d Danger) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the word.
func (d *Danger) UnmarshalText(b []byte) error {
	if *d = Danger(slices.Index(dangers, string(b))); *d <= 0 {
		return fmt.Errorf("no danger %q", b)
	}
	return nil
}

// Response is what happens if a kind is found.
type Response string

// The responses, from the mildest to the strictest.
const (
	Tell   Response = "tell"
	Ask    Response = "ask"
	Refuse Response = "refuse"
)

// kindRow is what is known of a kind.
type kindRow struct {
	kind     Kind
	danger   Danger
	response Response // unless the user or a row says otherwise
	says     string
}

// kinds is every kind, in the order in which they are shown.
var kinds = [...]kindRow{
	{"secrets", High, Refuse, "keys, passwords or tokens"},
	{"install", High, Ask, "runs when the project is installed"},
	{"commit", High, Ask, "runs when you commit, check out or push"},
	{"editor", High, Ask, "runs or takes hold when you open the project in an editor or enter its directory"},
	{"agents", High, Ask, "what agents start by themselves, may do and are told"},
	{"names", High, Tell, "names that mislead"},
	{"hidden", High, Tell, "text that a reader does not see for what it is"},
	{"packages", Medium, Tell, "decides where packages come from"},
	{"ci", Medium, Tell, "runs in CI"},
	{"review", Medium, Tell, "decides who reviews, and what they see"},
	{"weakened", Medium, Tell, "tests and checks that are weaker than before"},
	{"build", Medium, Tell, "runs when the project is built, linted or started"},
	{"test", Medium, Tell, "runs when tests are started"},
	{"environment", Medium, Tell, "settings that programs load by themselves"},
	{"executables", Medium, Tell, "files that can be started"},
	{"links", Medium, Tell, "links and submodules"},
	{"dependencies", Low, Tell, "packages that the project uses"},
	{"binary", Low, Tell, "files that nobody can read"},
	{"unknown", Low, Tell, "looks like something that a tool loads, and is not known here"},
	{"large", Low, Tell, "large files, which stay in the history"},
}

// Kinds is every kind that there is.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	return all
}

func (k Kind) rank() int {
	return slices.IndexFunc(kinds[:], func(r kindRow) bool { return r.kind == k })
}

func (k Kind) row() kindRow {
	if i := k.rank(); i >= 0 {
		return kinds[i]
	}
	return kindRow{response: Tell}
}

// Known says whether there is such a kind.
func (k Kind) Known() bool { return k.rank() >= 0 }

// Says is what a change of this kind can do.
func (k Kind) Says() string { return k.row().says }

// order is how strict a response is.
func (r Response) order() int { return slices.Index([]Response{Tell, Ask, Refuse}, r) }
