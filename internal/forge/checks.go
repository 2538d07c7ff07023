package forge

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// RulesFor is how long an answer about what a branch requires is kept.
const RulesFor = 5 * time.Minute

// Bounds of what a check says of itself, of the log of a job that is read, and of the end of it that is kept.
const (
	MaxSummary = 8 << 10
	MaxLog     = 64 << 20
	MaxLogEnd  = 64 << 10
)

// MaxChecks bounds the checks of one commit. With more of them none counts: one that has failed may be among the rest.
const MaxChecks = 1000

// TooManyChecks says that there are more.
func TooManyChecks(commit string) error {
	return &RejectedError{What: "read checks of " + commit, Status: 200, Message: fmt.Sprintf("more than %d checks were "+
		"reported", MaxChecks)}
}

// Checked is what is known of the checks of a pull request's head. A list is nil where there are none.
type Checked struct {
	Head     string
	All      []Check
	Required []string // names, or patterns with stars, that the rules of the base branch require
	Base     []Check  // of the base branch's own last commit
}

// LogEnd reads the end of a job's log, without colours. It begins with a whole line, and not within a private key: half
// a key is not known for one. Cut says that what is read is itself the end of something.
func LogEnd(r io.Reader, cut bool) (string, error) {
	var end []byte
	buf := make([]byte, 64<<10)
	for read := 0; read < MaxLog; {
		n, err := r.Read(buf)
		read += n
		if end = append(end, buf[:n]...); len(end) > 2*MaxLogEnd {
			end, cut = append(end[:0], end[len(end)-MaxLogEnd:]...), true
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
	}
	from := max(0, len(end)-MaxLogEnd)
	text := safetext.Colourless(string(end[from:]))
	if cut || from > 0 {
		_, text, _ = strings.Cut(text, "\n")
		if before, after, ends := strings.Cut(text, "-----END "); ends && !strings.Contains(before, "-----BEGIN ") {
			_, text, _ = strings.Cut(after, "\n")
		}
	}
	return Clean(text, 2*MaxLogEnd), nil
}
