package git

import (
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

// Short abbreviates an object id for people.
func Short(oid string) string {
	const n = 10
	if len(oid) > n {
		return oid[:n]
	}
	return oid
}

// Quote leaves plain text alone and puts the rest into Go quotes, so that no name can speak to a terminal.
func Quote(s string) string {
	if s != "" && safetext.Line(s) == s && !strings.ContainsAny(s, "\"'`\\") && !strings.HasPrefix(s, " ") &&
		!strings.HasSuffix(s, " ") {
		return s
	}
	return strconv.Quote(s)
}

// Clip shortens hostile text for a message.
func Clip(s string) string { return safetext.Cut(s, 120) }
