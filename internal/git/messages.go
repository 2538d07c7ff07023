package git

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Only this file of the package reads git's messages. LC_ALL=C keeps them in English.

// openError tells why a directory's repository can't be opened.
func openError(dir string, err error) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return fmt.Errorf("open repository: %w", err)
	}
	if strings.Contains(exit.Stderr, "dubious ownership") || strings.Contains(exit.Stderr, "unsafe repository") {
		owned := dir
		if _, rest, ok := strings.Cut(exit.Stderr, "repository at '"); ok {
			if path, _, ok := strings.Cut(rest, "'\n"); ok {
				owned = path
			}
		}
		return &OwnershipError{Dir: owned}
	}
	if strings.Contains(exit.Stderr, "not a git repository") {
		return &NotRepositoryError{Dir: dir}
	}
	return fmt.Errorf("open repository: %w", err)
}

// noSuchRef is what show-ref says of a ref that isn't there: "not a valid ref" (128) without -q, nothing (1) with it.
func noSuchRef(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return ok && (exit.Code == 1 || strings.Contains(exit.Stderr, "not a valid ref"))
}

// refError tells a lost race and a held lock from other errors.
func refError(err error, name string) error {
	exit, ok := errors.AsType[*proc.ExitError](err)
	if !ok {
		return err
	}
	if path, ok := lockPath(exit.Stderr); ok {
		return &LockedError{Path: path}
	}
	for _, words := range []string{"but expected", "reference already exists", "unable to resolve reference",
		"is missing but"} {
		if strings.Contains(exit.Stderr, words) {
			return &RefChangedError{Ref: name}
		}
	}
	return err
}

// lockPath finds the file in git's "Unable to create '…/index.lock': File exists."
func lockPath(words string) (string, bool) {
	_, rest, ok := strings.Cut(words, "nable to create '")
	if !ok {
		return "", false
	}
	path, after, ok := strings.Cut(rest, "': ")
	return path, ok && strings.HasPrefix(after, "File exists")
}

// inItsWay lists the files that read-tree refuses to overwrite.
func inItsWay(words string) (files []DirtyFile) {
	refusals := regexp.MustCompile(`(?m)^error: (?:Entry|Updating|Untracked working tree file) '(.*)' (not ` +
		`uptodate|would be|would lose)`)
	for _, m := range refusals.FindAllStringSubmatch(words, -1) {
		files = append(files, DirtyFile{Path: m[1], Why: "modified"})
	}
	return files
}

// Passes says whether git, or another program, ended for a reason that passes by itself: a disk that is full, or a
// network or a remote that is down.
func Passes(err error) bool {
	exit, ok := errors.AsType[*proc.ExitError](err)
	return ok && slices.ContainsFunc(passing(), func(words string) bool { return strings.Contains(exit.Stderr, words) })
}

// passing are the words of git and its curl.
func passing() []string {
	return []string{
		"No space left on device", "no space left on device", "disk quota exceeded", "Could not resolve host",
		"Couldn't resolve host", "Failed to connect", "Connection timed out", "Connection refused", "Connection reset",
		"Network is unreachable", "No route to host", "Operation timed out", "Recv failure", "Send failure", "Broken pipe",
		"early EOF", "unexpected EOF", "unexpected disconnect", "the remote end hung up unexpectedly",
		"Empty reply from server", "transfer closed with", "returned error: 429", "returned error: 5",
		"SSL_ERROR_SYSCALL", "SSL_read", "gnutls_handshake", "TLS connect error", "HTTP/2 stream",
	}
}
