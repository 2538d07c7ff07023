package git

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cco-dev/cco/internal/proc"
)

func TestWhatPassesByItselfIsKnown(t *testing.T) {
	for words, want := range map[string]bool{
		"fatal: unable to access 'http://h/': The requested URL returned error: 502": true,
		"fatal: unable to access 'https://h/': Could not resolve host: h":            true,
		"fatal: unable to access 'https://h/': Empty reply from server":              true,
		"fetch-pack: unexpected disconnect while reading sideband packet":            true,
		"error: RPC failed; curl 56 OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 0":    true,
		"error: RPC failed; curl 92 HTTP/2 stream 5 was not closed cleanly":          true,
		"fatal: write error: No space left on device":                                true,
		"fatal: unable to access: The requested URL returned error: 403":             false,
		"": false,
	} {
		err := fmt.Errorf("push: %w", &proc.ExitError{Argv: []string{"git", "push"}, Code: 128, Stderr: words})
		if Passes(err) != want {
			t.Errorf("%q: %v", words, !want)
		}
	}
	if Passes(errors.New("a title with the words: Could not resolve host")) || Passes(nil) {
		t.Error("what no program said is waited for")
	}
}
