// Package wire is what cco and its program in a cage say to each other about a private repository. It does no I/O
// beyond the streams that it is given.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Job tells `cco-box aside` what to send.
type Job struct {
	GitDir   string   `json:"git_dir"`
	WorkTree string   `json:"work_tree"`
	Not      []string `json:"not"`            // what the user has
	Only     []string `json:"only,omitempty"` // pack these commits, and not all that is new
	NoIndex  bool     `json:"no_index,omitempty"`
}

// Said is what comes back, as one line before a pack. Everything in it may be a lie. Names are bytes, because git's
// need not be text.
type Said struct {
	Refs   []Ref  `json:"refs"`
	Symref []byte `json:"symref,omitempty"` // of HEAD
	Head   string `json:"head,omitempty"`   // the commit that is checked out
	Index  string `json:"index,omitempty"`  // a commit of the index, which is HEAD's if nothing is staged
	Left   string `json:"left,omitempty"`   // why the index is not there, or not all of it
}

// Ref is a ref and the object that it holds.
type Ref struct {
	Name []byte `json:"name"`
	OID  string `json:"oid"`
}

// MaxHeader bounds what is said before the pack.
const MaxHeader = 64 << 20

// Write writes what is said. A pack follows.
func Write(w io.Writer, s Said) error { return json.NewEncoder(w).Encode(s) }

// Read reads what is said, and gives its length. It may read further.
func Read(r io.Reader, oidLen int) (s Said, size int64, err error) {
	in := json.NewDecoder(io.LimitReader(r, MaxHeader))
	in.DisallowUnknownFields()
	if err := in.Decode(&s); err != nil {
		return Said{}, 0, fmt.Errorf("read what the cage says: %w", err)
	}
	isOID := func(s string) bool { return len(s) == oidLen && strings.Trim(s, "0123456789abcdef") == "" }
	bad := s.Head != "" && !isOID(s.Head) || s.Index != "" && !isOID(s.Index) || s.Head == "" && s.Symref == nil
	for _, ref := range s.Refs {
		bad = bad || !isOID(ref.OID)
	}
	if bad {
		return Said{}, 0, errors.New("read what the cage says: it has an id that is none")
	}
	return s, in.InputOffset() + 1, nil
}
