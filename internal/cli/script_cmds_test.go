package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec" // git, to look at what cco did
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// commands are the words that scripts have beside testscript's own.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"id":          cmdID,
		"fingerprint": cmdFingerprint,
		"await":       cmdAwait,
		"code":        cmdCode,
		"serve":       cmdServe,
	}
}

var sessionID = regexp.MustCompile(`(?m)(?:[Ss]ession |"id": "|^)([0-9a-f]{8})\b`)

// id VAR sets a variable to the session that the last command's output names.
func cmdID(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: id VAR")
	}
	m := sessionID.FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr"))
	if m == nil {
		ts.Fatalf("no session is named")
	}
	ts.Setenv(args[0], m[1])
}

// code N CMD… runs a command that must exit with status N.
func cmdCode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: code N CMD…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		got = -1
		if e, ok := err.(*exec.ExitError); ok { //nolint:errorlint // testscript gives it bare
			got = e.ExitCode()
		}
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// fingerprint DIR VAR sums up a repository: refs but cco's own, config, index, worktree. If VAR is set, it must be the
// same.
func cmdFingerprint(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: fingerprint DIR VAR")
	}
	dir := ts.MkAbs(args[0])
	h := sha256.New()
	refs, err := exec.Command("git", "-C", dir, "for-each-ref").Output() //nolint:forbidigo // git, to look at what cco did
	ts.Check(err)
	for line := range strings.Lines(string(refs)) {
		if !strings.Contains(line, "\trefs/cco/") {
			_, _ = h.Write([]byte(line))
		}
	}
	for _, f := range []string{"HEAD", "config", "index"} {
		data, _ := os.ReadFile(filepath.Join(dir, ".git", f))
		_, _ = fmt.Fprintf(h, "%s %x\n", f, data)
	}
	ts.Check(filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			if err == nil && d.IsDir() {
				return filepath.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(h, "%s %s\n", path, info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			_, _ = h.Write(data)
			return err
		}
		return nil
	}))
	sum := hex.EncodeToString(h.Sum(nil))
	if old := ts.Getenv(args[1]); old != "" && (old == sum) == neg {
		ts.Fatalf("fingerprint of %s: same=%v", args[0], old == sum)
	}
	ts.Setenv(args[1], sum)
}

// await PATTERN [TEXT] waits until a file is there, and with TEXT until one of them has it.
func cmdAwait(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: await PATTERN [TEXT]")
	}
	path, text := ts.MkAbs(args[0]), strings.Join(args[1:], "")
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		found, err := filepath.Glob(path)
		ts.Check(err)
		if slices.ContainsFunc(found, func(file string) bool {
			if text == "" {
				return true
			}
			data, _ := os.ReadFile(file) // it may be gone again
			return strings.Contains(string(data), text)
		}) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s never came", strings.Join(args, ": "))
		}
	}
}

// serve VAR starts a web server on the host that says "reached" and the name that it was asked for, and refuses a key
// below /refuse. It sets VAR to its address.
func cmdServe(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: serve VAR")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/refuse/") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintln(w, "reached", r.Host)
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.Listener.Addr().String())
}
