package caged

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// maxCopied bounds a file of the agent's that is copied.
const maxCopied = 16 << 20

// agentHome gives the agent a home of its own for this worktree, to which its variables lead: the user's configuration
// read-only, transcripts that are the user's own, and copies of its login and of files that are state and settings at
// once. All else in it is the cage's own.
//
// Without mounts links lead to what is shown.
func (c *Cage) agentHome(dir string, show func(...Mount)) (env []string, err error) {
	row, known := c.agent()
	if !known || len(row.Homes) == 0 {
		return nil, nil
	}
	private := filepath.Join(c.Dir, "home")
	if err := os.MkdirAll(private, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(private)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	show(Mount{Source: private, Target: private, Write: true})
	for _, h := range row.Homes {
		if h.Dir != "" {
			err = errors.Join(err, tree.MakeDir(root, h.Dir))
		}
	}
	if err != nil {
		return nil, err
	}
	for i, name := range append(row.Config, row.State...) {
		name, err := project(name, dir, c.place(row, path.Dir(name)))
		if err != nil {
			return nil, err
		}
		source, err := filepath.EvalSymlinks(c.place(row, name))
		if err != nil {
			continue
		}
		file, err := makePlace(root, source, name)
		if err != nil {
			return nil, err
		}
		m := Mount{Source: source, Target: filepath.Join(private, name), File: file, Write: i >= len(row.Config)}
		if c.bare() {
			m.Target = source
			if err := errors.Join(root.RemoveAll(name), root.Symlink(source, name)); err != nil {
				return nil, err
			}
		}
		show(m)
	}
	return row.Env(private), c.copyIn(root, row)
}

// maxProject is the longest name that claude gives a project as it is.
const maxProject = 200

// project names the part of an agent's state that is the project's own, as claude names it: the directory in which it
// starts, with everything but letters and digits replaced. It is made if others are there, so that it is the user's.
func project(name, dir, projects string) (string, error) {
	before, ok := strings.CutSuffix(name, "/"+roster.ThisProject)
	if !ok {
		return name, nil
	}
	own := strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '-'
	}, dir)
	if _, err := os.Stat(projects); err == nil && len(own) <= maxProject {
		return before + "/" + own, os.MkdirAll(filepath.Join(projects, own), 0o700)
	}
	return before + "/" + own, nil
}

// place is where the user has a file of the agent's: a variable may say so.
func (c *Cage) place(row roster.Row, name string) string {
	return row.At(name, func(name string) string { dir, _ := lookup(c.User.Env, name); return dir }, c.User.Home)
}

func lookup(env []string, name string) (value string, ok bool) {
	for _, kv := range env {
		if v, found := strings.CutPrefix(kv, name+"="); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// makePlace makes something to mount a source over, in a directory in which an agent has written.
func makePlace(root *os.Root, source, name string) (file bool, err error) {
	st, err := os.Stat(source)
	if err != nil {
		return false, err
	}
	if st.IsDir() {
		return false, tree.MakeDir(root, name)
	}
	if err := tree.MakeDir(root, path.Dir(name)); err != nil {
		return true, err
	}
	if now, err := root.Lstat(name); err == nil && !now.Mode().IsRegular() {
		if err := root.RemoveAll(name); err != nil {
			return true, err
		}
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return true, err
	}
	return true, f.Close()
}

// copyIn copies the agent's login, and files that are state and settings at once, if the user's have changed since they
// were copied last.
func (c *Cage) copyIn(root *os.Root, row roster.Row) error {
	for _, one := range row.Copies {
		to := one.To
		theirs, err := readBounded(c.place(row, cmp.Or(one.From, to)))
		if err != nil {
			continue // there is none
		}
		copied := filepath.Join(c.Dir, "copied", strings.ReplaceAll(to, "/", "-"))
		last, err := os.ReadFile(copied)
		if _, lost := root.Lstat(to); err == nil && lost == nil && bytes.Equal(last, theirs) {
			continue
		}
		if err := tree.MakeDir(root, path.Dir(to)); err != nil {
			return err
		}
		err = errors.Join(ignoreMissing(root.RemoveAll(to)), root.WriteFile(to, theirs, 0o600),
			os.MkdirAll(filepath.Dir(copied), 0o700))
		if err == nil {
			err = whole.Write(copied, theirs, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func readBounded(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxCopied {
		return nil, errors.New(name + " is no file of settings")
	}
	return os.ReadFile(name)
}

// BringTokens brings renewed tokens of the agent's login back to the user: a file of the same shape in which only
// values differ, and only if the user's is what was copied. Links that a program which began
// in a directory has made in what is the user's own go.
func (c *Cage) BringTokens(dir string, began time.Time) (renewed []string, err error) {
	row, known := c.agent()
	if !known {
		return nil, nil
	}
	for _, name := range row.State {
		name, err := project(name, dir, c.place(row, path.Dir(name)))
		if err = errors.Join(err, tree.DropLinks(c.place(row, name), began)); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(filepath.Join(c.Dir, "home"))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer func() { _ = root.Close() }()
	for _, name := range row.Tokens {
		theirs := c.place(row, name)
		copied := filepath.Join(c.Dir, "copied", strings.ReplaceAll(name, "/", "-"))
		was, err := os.ReadFile(copied)
		if err != nil {
			continue
		}
		st, err := root.Lstat(name)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxCopied {
			continue
		}
		now, err := root.ReadFile(name)
		if err != nil || bytes.Equal(now, was) || !sameShape(was, now) {
			continue
		}
		mine, err := readBounded(theirs)
		if err != nil || !bytes.Equal(mine, was) {
			continue // the user has logged in anew
		}
		if err := errors.Join(whole.Write(theirs, now, 0o600), whole.Write(copied, now, 0o600)); err != nil {
			return renewed, err
		}
		renewed = append(renewed, theirs)
	}
	return renewed, nil
}

// sameShape says whether two files of JSON have the same keys and kinds of values everywhere.
func sameShape(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(shape(x), shape(y))
}

func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = shape(e)
		}
		return out
	case []any:
		return len(v)
	case string:
		return ""
	case float64:
		return 0
	default:
		return v
	}
}
