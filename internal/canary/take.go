package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/paths"
)

// Shot is a repository as it was before an agent ran, with what is needed to put it back.
type Shot struct {
	Own     Own             `json:"own"`
	Common  string          `json:"common"`  // the repository's .git
	Admin   string          `json:"admin"`   // the agent's own directory below worktrees/
	Roots   []string        `json:"roots"`   // what is watched in .git, files and directories
	Outside []string        `json:"outside"` // directories of hooks elsewhere
	Files   map[Raw]Entry   `json:"files"`
	Refs    map[Raw]git.Ref `json:"refs"`
	Places  []place         `json:"places"` // all worktrees but the agent's
	Stash   string          `json:"stash"`  // the sum of the list of stashes, which is a reflog
	Bad     []string        `json:"bad"`    // loose objects that were none before

	dir string
}

// place is one worktree: the main one, or a linked one of the user's or of another session.
type place struct {
	Dir   string `json:"dir"`            // its git directory
	Head  string `json:"head"`           // a ref, or a commit
	Last  string `json:"last,omitempty"` // the last line of HEAD's reflog
	Fetch string `json:"fetch,omitempty"`
}

const (
	shotFile   = "shot.json"
	reportFile = "report.json"
	blobsDir   = "blobs"
	maxLog     = 16 << 20
	maxShot    = 256 << 20
)

// Take records a repository in dir, which becomes private to the user. An earlier shot there is replaced.
func Take(ctx context.Context, repo *git.Repo, dir string, own Own) (*Shot, error) {
	if err := Drop(dir); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, blobsDir), 0o700); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	s := &Shot{Own: own, Common: repo.CommonDir, Files: map[Raw]Entry{}, dir: dir}
	if err := s.fill(ctx, repo); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", errors.Join(err, Drop(dir)))
	}
	if err := writeJSON(filepath.Join(dir, shotFile), s); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	return s, nil
}

func (s *Shot) fill(ctx context.Context, repo *git.Repo) (err error) {
	if s.Refs, err = refsOf(ctx, repo); err != nil {
		return err
	}
	s.Admin = adminOf(s.Common, s.Own.Workspace)
	dirs, err := gitDirs(s.Common, s.Admin)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		s.Places = append(s.Places, placeAt(dir))
	}
	if s.Roots, err = roots(s.Common, dirs); err != nil {
		return err
	}
	s.Outside = outside(repo)
	scan := &scanner{files: s.Files, keep: s.keep}
	for _, root := range slices.Concat(s.Roots, s.Outside) {
		if err := scan.walk(root); err != nil {
			return fmt.Errorf("%s: %w", label(s.Common, root), err)
		}
	}
	for _, dir := range bare(s.Common) {
		if err := scan.mark(dir); err != nil {
			return err
		}
	}
	if _, s.Bad, err = quarantine.CheckLoose(ctx, repo); err != nil {
		return err
	}
	log, err := readBounded(stashLog(s.Common), maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Stash = sumOf(log)
	return s.keep(s.Stash, log)
}

// keep saves content under its sum, so that a later read can check it.
func (s *Shot) keep(sum string, content []byte) error {
	return os.WriteFile(filepath.Join(s.dir, blobsDir, sum), content, 0o600)
}

// content reads back what was saved.
func (s *Shot) content(sum string) ([]byte, error) {
	b, err := readBounded(filepath.Join(s.dir, blobsDir, sum), maxIndex)
	if err == nil && sumOf(b) != sum {
		err = errors.New("what was saved has been changed")
	}
	return b, err
}

// Load reads a shot back.
func Load(dir string) (*Shot, error) {
	s := &Shot{dir: dir}
	if err := readJSON(filepath.Join(dir, shotFile), s); err != nil {
		return nil, fmt.Errorf("read the snapshot: %w", err)
	}
	if s.Common == "" || s.Own.ID == "" {
		return nil, errors.New("read the snapshot: it is incomplete")
	}
	return s, nil
}

func stashLog(common string) string { return filepath.Join(common, "logs", "refs", "stash") }

// adminOf finds the directory below worktrees/ that belongs to a workspace; "" where it has none.
func adminOf(common, workspace string) string {
	b, err := readBounded(filepath.Join(workspace, ".git"), 4096)
	if err != nil {
		return ""
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return ""
	}
	name := filepath.Base(dir)
	if admin := filepath.Join(common, "worktrees", name); sameDir(admin, dir) {
		return admin
	}
	return ""
}

func sameDir(a, b string) bool {
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// gitDirs lists the git directories of all worktrees but the agent's.
func gitDirs(common, admin string) ([]string, error) {
	dirs := []string{common}
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("worktrees: %w", errTooMany)
	}
	for _, e := range entries {
		if dir := filepath.Join(common, "worktrees", e.Name()); dir != admin {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

func placeAt(dir string) place {
	p := place{Dir: dir, Head: firstLine(filepath.Join(dir, "HEAD"))}
	if lines, err := logLines(filepath.Join(dir, "logs", "HEAD")); err == nil && len(lines) > 0 {
		p.Last = lines[len(lines)-1]
	}
	if b, err := readBounded(filepath.Join(dir, "FETCH_HEAD"), maxLog); err == nil {
		p.Fetch = sumOf(b)
	}
	return p
}

// roots lists everything in .git that steers git, or that git needs. info/refs is for web servers, and written by gc.
func roots(common string, dirs []string) ([]string, error) {
	var list []string
	add := func(dir string, names ...string) {
		for _, n := range names {
			list = append(list, filepath.Join(dir, filepath.FromSlash(n)))
		}
	}
	add(common, "config", "hooks", "info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout",
		"objects/info/alternates", "objects/info/http-alternates", "shallow")
	for _, dir := range dirs {
		add(dir, "HEAD", "index", "config.worktree", "commondir", "gitdir", "locked")
	}
	modules, err := submodules(filepath.Join(common, "modules"), 0)
	for _, dir := range modules {
		add(dir, "config", "hooks", "info/attributes", "commondir", "config.worktree", "objects/info/alternates")
	}
	return list, err
}

// bare lists the directories of .git that must be no links.
func bare(common string) (list []string) {
	for _, n := range []string{"info", "objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags",
		"logs", "worktrees", "modules"} {
		list = append(list, filepath.Join(common, filepath.FromSlash(n)))
	}
	return list
}

// submodules finds the git directories of submodules, whose hooks and configuration count as the repository's own.
func submodules(dir string, depth int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || depth > 16 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if !e.IsDir() || e.Name() == "objects" || e.Name() == "refs" || e.Name() == "logs" {
			continue
		}
		if _, err := os.Lstat(filepath.Join(sub, "HEAD")); err == nil {
			list = append(list, sub)
			sub = filepath.Join(sub, "modules")
		}
		more, err := submodules(sub, depth+1)
		if err != nil {
			return nil, err
		}
		if list = append(list, more...); len(list) > maxEntries {
			return nil, fmt.Errorf("modules: %w", errTooMany)
		}
	}
	return list, nil
}

// outside lists directories of hooks that are not below .git: where core.hooksPath leads, and where .git/hooks does.
func outside(repo *git.Repo) []string {
	var list []string
	add := func(dir string) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.Contains(list, real) || paths.Within(real, repo.CommonDir) {
			return
		}
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			list = append(list, real)
		}
	}
	if dir := repo.HooksDir(); dir != "" {
		add(dir)
	}
	if info, err := os.Lstat(filepath.Join(repo.CommonDir, "hooks")); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		add(filepath.Join(repo.CommonDir, "hooks"))
	}
	return list
}

// label names a path for people: short below .git, whole elsewhere.
func label(common, path string) string {
	if rel, err := filepath.Rel(common, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func firstLine(path string) string {
	b, err := readBounded(path, 4096)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimPrefix(line, "ref: ")
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

func readJSON(path string, v any) error {
	data, err := readBounded(path, maxShot)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
