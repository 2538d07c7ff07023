package box

import "slices"

// Backend is what cco knows of a backend besides its driver. It stands in the driver's package; package app lists it.
type Backend struct {
	Name, Help string
	// Strength orders backends by how well they isolate: a repository that nobody trusts may ask for more, not for less.
	Strength int
	System   string // where it is the default, in Go's words
	Weaker   string // flags for a weaker box on machines that lack what this one needs
	OwnGuard bool   // its guard program does not come from beside cco
	Plain    bool   // a box of it is made and started in a moment, without a question, and costs nothing
	Settings []Setting
	// Fill puts the values of its settings into a box's spec; nil if it has none.
	Fill func(own Values, s *Spec)
}

// Setting is one of a backend's own settings, below "box." in files. Backends that share a name share its kind.
type Setting struct {
	Name  string
	Kind  SettingKind
	Words []string // the only values, of a Word
	Env   string   // the variable that overrides files, if there is one
	Flag  string   // of `cco box create`, "" for none
	Help  string   // of the flag
	// Instead is the setting that a flag for this one takes back, unless it is given too.
	Instead string
	// Refusal says why a box of another backend is refused where this is set, with %s for the backend; "" passes it over.
	Refusal string
}

// SettingKind says how a setting is written, and of which type its value is.
type SettingKind int

// The kinds of settings.
const (
	Text      SettingKind = iota // string
	Word                         // string, one of Words
	HostFile                     // string, absolute
	Count                        // int, above zero
	Size                         // int64, bytes
	Switch                       // bool
	Packages                     // []string, names of packages
	HostFiles                    // []string, absolute
	Copies                       // []VMFile, from a table of destinations
)

// Values are the values of backends' settings, by their names.
type Values map[string]any

// Value is a setting's value, zero if it isn't set.
func Value[T any](v Values, name string) T {
	t, _ := v[name].(T)
	return t
}

// Has says whether the backend has a setting of that name.
func (b Backend) Has(name string) bool {
	return slices.ContainsFunc(b.Settings, func(s Setting) bool { return s.Name == name })
}
