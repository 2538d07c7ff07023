package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // it is what git names objects by
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
)

// Repo is a user's repository with a worktree.
type Repo struct {
	Top          string // the worktree
	GitDir       string // of this worktree
	CommonDir    string // of all worktrees
	ObjectFormat string // "sha1" or "sha256"

	host   Host
	config []Setting
	scopes []string // of each setting, as git calls them
}

// Open finds the repository that dir is in.
func Open(ctx context.Context, dir string) (*Repo, error) { return openWithin(ctx, dir, passableTime) }

func openWithin(ctx context.Context, dir string, limit time.Duration) (*Repo, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	}
	if info, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("open repository: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("open repository: not a directory: %s", Quote(abs))
	}
	h := NewHost(abs)
	r := &Repo{}
	soon, cancel := context.WithTimeoutCause(ctx, limit, &WaitError{Path: abs, Does: true})
	defer cancel()
	soon, found := context.WithCancelCause(soon)
	defer found(nil)
	defer time.AfterFunc(patience, func() {
		if err := Passable(soon, abs); err != nil {
			found(err)
		} else if fifo := included(soon, abs); fifo != "" {
			found(&WaitError{Path: fifo})
		}
	}).Stop()
	var all []byte
	read := make(chan error, 1)
	go func() { // starting a git takes longer than what it does here
		var err error
		all, err = h.Out(soon, listSettings()...)
		read <- err
	}()
	err = r.locate(soon, h)
	unread := <-read
	if err != nil {
		return nil, late(soon, err)
	}
	if unread != nil {
		return nil, late(soon, fmt.Errorf("read git config: %w", unread))
	}
	if err := r.heed(all); err != nil {
		return nil, err
	}
	// What git reads later. It has read the rest by now.
	later := []string{filepath.Join(r.CommonDir, "info", "exclude"), filepath.Join(r.CommonDir, "info", "attributes")}
	for _, s := range r.config {
		later = append(later, inSettings(s.Value, r.Top))
	}
	if i := slices.IndexFunc(later, waits); i >= 0 {
		return nil, &WaitError{Path: later[i]}
	}
	// From here on git does not search for the repository, so files in the directories can't redirect it.
	r.host = NewHost(r.Top, filtersOff(r.config)...).With("GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+r.Top)
	return r, nil
}

// OpenSubmodule opens the repository of a submodule by its git directory, which is its Top as well: the files in a
// worktree that lead to it are not asked, nor is it searched for. It also gives the submodule's worktree, "" for none.
func OpenSubmodule(ctx context.Context, dir string) (r *Repo, worktree string, err error) {
	r = &Repo{Top: dir, GitDir: dir, CommonDir: dir}
	r.host = NewHost(dir).With("GIT_DIR="+dir, "GIT_WORK_TREE="+dir)
	all, err := r.host.Out(ctx, listSettings()...)
	if err == nil {
		err = r.heed(all)
	}
	if err != nil {
		return nil, "", fmt.Errorf("open submodule %s: %w", Quote(dir), err)
	}
	r.ObjectFormat = cmp.Or(r.get("extensions.objectformat"), "sha1")
	if at := r.get("core.worktree"); at != "" {
		worktree = paths.From(dir, at)
	}
	return r, worktree, nil
}

// late gives the cause of an error that came of waiting for too long.
func late(ctx context.Context, err error) error {
	if waits, ok := errors.AsType[*WaitError](context.Cause(ctx)); ok {
		return waits
	}
	return err
}

func (r *Repo) locate(ctx context.Context, h Host) error {
	out, err := h.Out(ctx, "rev-parse", "--path-format=absolute", "--is-bare-repository", "--is-inside-git-dir",
		"--show-object-format", "--absolute-git-dir", "--git-common-dir", "--show-toplevel")
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil && len(lines) < 5 {
		return openError(h.dir, err)
	}
	if lines[0] == "true" {
		return &BareError{Dir: h.dir}
	}
	if lines[1] == "true" {
		return fmt.Errorf("open repository: %s is inside a .git directory: %w", Quote(h.dir), &NotRepositoryError{Dir: h.dir})
	}
	if err != nil {
		return fmt.Errorf("open repository: %w", err)
	}
	if len(lines) != 6 {
		return fmt.Errorf("open repository: a path with a line break is not supported: %s", Quote(h.dir))
	}
	r.ObjectFormat = lines[2]
	r.GitDir, r.CommonDir, r.Top = lines[3], lines[4], lines[5]
	if r.ObjectFormat != "sha1" && r.ObjectFormat != "sha256" {
		return fmt.Errorf("open repository: unknown object format %s", Quote(r.ObjectFormat))
	}
	return nil
}

// listSettings lists all settings, each after its scope.
func listSettings() []string { return []string{"config", "-z", "--list", "--show-scope"} }

// heed takes over what listSettings printed.
func (r *Repo) heed(list []byte) (err error) {
	for i, text := range fields(list) {
		if i%2 == 0 {
			r.scopes = append(r.scopes, text)
		} else {
			r.config = append(r.config, parseSetting(text))
		}
	}
	r.config, err = withoutOurs(r.config)
	return err
}

// withoutOurs removes the hardening from the end of a configuration. If it isn't there, this git doesn't support the
// way in which we pass it, and our settings for hooks and filters would have no effect.
func withoutOurs(all []Setting) ([]Setting, error) {
	ours := hardening()
	n := len(all) - len(ours)
	same := func(a, b Setting) bool { return strings.EqualFold(a.Key, b.Key) && a.Value == b.Value }
	if n < 0 || !slices.EqualFunc(all[n:], ours, same) {
		return nil, errors.New("open repository: git is too old: 2.31 or newer is needed")
	}
	return all[:n], nil
}

// ParseConfig reads `git config -z --list`. A key without a value is true.
func ParseConfig(b []byte) []Setting {
	var all []Setting
	for _, f := range fields(b) {
		all = append(all, parseSetting(f))
	}
	return all
}

// UserSettings are the user's own settings where there is no repository: one could name files to include.
func UserSettings(ctx context.Context) ([]Setting, error) {
	out, err := NewHost("/").Out(ctx, "config", "--global", "--includes", "-z", "--list")
	if err != nil && proc.Code(err) != 128 { // there is none, or git can't read it elsewhere either
		return nil, fmt.Errorf("read your settings of git: %w", err)
	}
	return ParseConfig(out), nil
}

func parseSetting(text string) Setting {
	key, value, ok := strings.Cut(text, "\n")
	if !ok {
		value = "true"
	}
	return Setting{key, value}
}

// get gives the last value of a configuration key, which is the one that counts.
func (r *Repo) get(key string) string {
	for i := len(r.config) - 1; i >= 0; i-- {
		if r.config[i].Key == key {
			return r.config[i].Value
		}
	}
	return ""
}

// filtersOff blanks every configured filter: attributes come with the tree, so a hostile tree chooses which filter
// runs on which content. The price: files of git-lfs arrive in the worktree as pointers and those of git-crypt
// encrypted, until the user runs `git lfs checkout` or `git-crypt unlock`; FastForward lists them.
func filtersOff(config []Setting) []Setting {
	var off []Setting
	seen := map[string]bool{}
	for _, s := range config {
		name, ok := filterName(s.Key)
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		for _, key := range []string{"clean", "smudge", "process"} {
			off = append(off, Setting{"filter." + name + "." + key, ""})
		}
		off = append(off, Setting{"filter." + name + ".required", "false"})
	}
	return off
}

func filterName(key string) (string, bool) {
	rest, ok := strings.CutPrefix(key, "filter.")
	if !ok {
		return "", false
	}
	dot := strings.LastIndexByte(rest, '.')
	if dot < 0 {
		return "", false
	}
	return rest[:dot], true
}

// Settings are the configuration that git heeds in this repository, as it was when that was opened: all of it, or what
// has one of some scopes ("global" is the user's).
func (r *Repo) Settings(scopes ...string) (all []Setting) {
	for i, s := range r.config {
		if len(scopes) == 0 || slices.Contains(scopes, r.scopes[i]) {
			all = append(all, s)
		}
	}
	return all
}

// Host starts git in this repository.
func (r *Repo) Host() Host { return r.host }

// Through is the same repository, used through another Host.
func (r *Repo) Through(h Host) *Repo {
	same := *r
	same.host = h
	return &same
}

// Key is stable for a repository as long as it stays where it is: all its worktrees share it. It is 16 hex digits.
func (r *Repo) Key() string {
	dir := r.CommonDir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

// OIDLen is the length of an object id in hex.
func (r *Repo) OIDLen() int {
	if r.ObjectFormat == "sha256" {
		return 64
	}
	return 40
}

// NewHash makes the hash that objects are named by.
func (r *Repo) NewHash() hash.Hash {
	if r.ObjectFormat == "sha256" {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // as above
}

// zero is the object id that stands for "nothing".
func (r *Repo) zero() string { return strings.Repeat("0", r.OIDLen()) }

// CheckOID keeps anything that isn't a full object id away from git's argument parsing.
func (r *Repo) CheckOID(oids ...string) error {
	for _, oid := range oids {
		if !IsOID(oid, r.OIDLen()) {
			return fmt.Errorf("not a full object id: %s", Quote(oid))
		}
	}
	return nil
}

// IsOID says whether s is a full object id of n digits.
func IsOID(s string, n int) bool {
	if len(s) != n {
		return false
	}
	return strings.Trim(s, "0123456789abcdef") == ""
}

// readLine gives the first line of a small file of git's, or "".
func readLine(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	first, _, _ := bytes.Cut(b, []byte("\n"))
	return string(first)
}
