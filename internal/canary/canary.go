// Package canary tells what moved in a repository of the user's while an agent ran that nothing held: refs and
// configuration, before and after. It changes nothing there, and can't know who moved something.
package canary

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/whole"
)

// setting precedes the key of a setting, which is no ref's name.
const setting = "config "

// Picture is a repository at one moment: what HEAD and each ref hold, and what each setting is.
type Picture map[string]string

// Take looks at a repository. Its configuration is all that git heeds there, also what is in the user's home.
func Take(ctx context.Context, repo *git.Repo) (Picture, error) {
	refs, err := repo.Refs(ctx)
	if err != nil {
		return nil, err
	}
	head, err := repo.Host().Line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil { // it names a commit, or an agent has broken it
		head, _ = repo.Host().Line(ctx, "rev-parse", "-q", "--verify", "HEAD")
	}
	p := Picture{"HEAD": head}
	for name, ref := range refs {
		if p[name] = ref.OID; ref.Symref != "" {
			p[name] = ref.Symref
		}
	}
	for _, s := range repo.Settings() {
		p[setting+s.Key] += s.Value + "\n" // a key may have several values
	}
	return p, nil
}

// Moved is one thing that is not what it was.
type Moved struct {
	What string `json:"what"` // HEAD, a ref, or "config" and a key
	Was  string `json:"was,omitempty"`
	Is   string `json:"is,omitempty"`
}

// New says that it is only a ref more, which is in no other's way.
func (m Moved) New() bool { return m.Was == "" && strings.Count(m.What, "/") > 1 && !m.config() }

func (m Moved) config() bool { return strings.HasPrefix(m.What, setting) }

// Words tell it in a line. Values of settings may be logins, and are left out.
func (m Moved) Words() string {
	what := safetext.Line(m.What)
	short := func(v string) string {
		if !strings.HasPrefix(v, "refs/") {
			v = git.Short(v)
		}
		return safetext.Line(git.Clip(v))
	}
	switch {
	case m.config():
		return what + " was changed"
	case m.Was == "":
		return what + " is new, at " + short(m.Is)
	case m.Is == "":
		return what + " is gone; it was at " + short(m.Was)
	}
	return fmt.Sprintf("%s moved from %s to %s", what, short(m.Was), short(m.Is))
}

// Compare gives what is different in a later picture.
func Compare(was, is Picture) (list []Moved) {
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if was[what] != is[what] {
			list = append(list, Moved{What: what, Was: was[what], Is: is[what]})
		}
	}
	return list
}

// Report is what moved while one session ran. It has the picture before until it is compared.
type Report struct {
	Session string    `json:"session"`
	Box     string    `json:"box"`
	Repo    string    `json:"repo"`
	Since   time.Time `json:"since,omitzero"`
	Time    time.Time `json:"time,omitzero"`
	Before  Picture   `json:"before,omitempty"`
	Moved   []Moved   `json:"moved"`
}

// Count sums up a report.
func (r Report) Count() string {
	fresh := 0
	for _, m := range r.Moved {
		if m.New() {
			fresh++
		}
	}
	return fmt.Sprintf("%d moved, %d new in your repository", len(r.Moved)-fresh, fresh)
}

// Keep writes a report to a file, which must be out of the agent's reach as far as anything is.
func (r Report) Keep(file string) error {
	data, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return err
	}
	return whole.Write(file, data, 0o600)
}

// Read gives a report that was kept.
func Read(file string) (r Report, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}
