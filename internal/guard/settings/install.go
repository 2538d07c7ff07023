package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/whole"
)

// Installation is the guard around one worktree or clone.
type Installation struct {
	Dir    string // the workspace, with links resolved
	State  string // where cco keeps what belongs to it
	Guard  string // cco-guard
	Places Places
	// Adapters are those of all agents; only those that work outside of boxes count.
	Adapters []*Adapter
}

// Known are the agents whose hook can be registered.
func (i Installation) Known() (names []string) {
	for _, a := range i.Adapters {
		if a.start != "" {
			names = append(names, a.agent)
		}
	}
	return names
}

func (i Installation) adapter(agent string) (*Adapter, error) {
	for _, a := range i.Adapters {
		if a.start != "" && a.agent == agent {
			return a, nil
		}
	}
	return nil, fmt.Errorf("%w %q; it has for %s", ErrNoHook, agent, strings.Join(i.Known(), ", "))
}

// ErrNoHook begins to say of which agent the guard knows no hooks.
var ErrNoHook = errors.New("the guard has no hook for")

// Launch is how to start an agent so that the guard holds as far as it can.
func (i Installation) Launch(agent string) (line string, err error) {
	a, err := i.adapter(agent)
	if err != nil {
		return "", err
	}
	return i.launch(a), nil
}

func (i Installation) launch(a *Adapter) string {
	if !a.own {
		return a.start
	}
	return a.start + proc.ShellWord(i.started(a.agent))
}

// record remembers what was done, so that it can be undone exactly.
type record struct {
	Dir    string            `json:"dir"` // for a person who looks at it
	Name   string            `json:"name"`
	Edits  map[string]edited `json:"edits"` // by agent
	System bool              `json:"system,omitempty"`
}

type edited struct {
	File    string `json:"file"`
	Existed bool   `json:"existed"`
	Before  []byte `json:"before,omitempty"`
	After   []byte `json:"after"`
}

// Policy is the file that the hook decides by.
func (i Installation) Policy() string { return filepath.Join(i.State, "policy.json") }

// started is the settings file that an agent is started with.
func (i Installation) started(agent string) string { return filepath.Join(i.State, agent+".json") }

func (i Installation) recordFile() string { return filepath.Join(i.State, "install.json") }

// hook is an agent's hook. In a file of the user's it has to find out where it is.
func (i Installation) hook(a *Adapter, r record) Hook {
	h := Hook{Guard: i.Guard, Policy: i.Policy(), Name: r.Name, System: r.System}
	if a.row().Local == "" && !r.System {
		h.Scope = i.Dir
	}
	return h
}

// Options say what Install does.
type Options struct {
	Agents []string
	// System writes the files that hold for everybody on the machine, and lets agents work in this workspace alone.
	System bool
	Strict bool // no directories for temporary files
	// Nonce is a word that nobody can guess.
	Nonce string
}

// Install registers the hook. What it writes twice is as if written once.
func (i Installation) Install(p guard.Policy, o Options) error {
	var adapters []*Adapter
	for _, name := range o.Agents {
		a, err := i.adapter(name)
		if err != nil {
			return err
		}
		adapters = append(adapters, a)
	}
	if err := os.MkdirAll(i.State, 0o700); err != nil {
		return err
	}
	r, err := i.record()
	if err != nil {
		return err
	}
	if r.System != o.System && len(r.Edits) > 0 {
		return errors.New("it is installed in another way already: run `cco guard uninstall` first")
	}
	r.Dir, r.System = i.Dir, o.System
	if r.Name == "" {
		r.Name = "cco-guard-" + o.Nonce
	}
	if err := i.writePolicy(p, adapters, o.System); err != nil {
		return err
	}
	for _, a := range adapters {
		if err := i.install(a, &r); err != nil {
			return fmt.Errorf("install for %s: %w", a.agent, err)
		}
	}
	return nil
}

// writePolicy also protects what this installation consists of.
func (i Installation) writePolicy(p guard.Policy, adapters []*Adapter, system bool) error {
	p.Protected = append(p.Protected, i.Guard, i.State)
	for _, a := range adapters {
		p.Protected = append(p.Protected, i.Places.file(a.row(), i.Dir, system))
	}
	f, err := PolicyFile(p)
	if err != nil {
		return err
	}
	if err := whole.Replace(i.Policy(), f.Data, 0o600); err != nil {
		return err
	}
	for _, a := range i.Adapters {
		if a.own {
			if err := whole.Replace(i.started(a.agent), a.fresh(i.hook(a, record{})), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i Installation) install(a *Adapter, r *record) error {
	target := i.Places.file(a.row(), i.Dir, r.System)
	file, err := i.resolve(target)
	if err != nil {
		return err
	}
	now, there, err := readIfThere(file)
	if err != nil {
		return err
	}
	h := i.hook(a, *r)
	base := edited{File: file, Existed: there, Before: now}
	if old, ok := r.Edits[a.agent]; ok && old.File == file {
		base.Before, base.Existed = old.undo(a, now, there, h)
	}
	if base.After, err = a.merge(a, target, base.Before, h); err == nil {
		err = a.proved(base.After)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	// The record comes first: what it can't undo must never be written.
	r.Edits[a.agent] = base
	if err := whole.Replace(i.recordFile(), []byte(compact(r)), 0o600); err != nil {
		return err
	}
	if bytes.Equal(now, base.After) {
		return nil
	}
	mode := os.FileMode(0o600)
	if r.System {
		mode = 0o644
	}
	return whole.Replace(file, base.After, mode)
}

// proved reads settings again that the hook was added to: nothing may switch it off.
func (a *Adapter) proved(data []byte) error {
	tree, err := a.read(data)
	if err != nil {
		return fmt.Errorf("its hooks are written in a way that can't be added to: %w", err)
	}
	for _, k := range a.offBy {
		if at(tree, k.path) == k.value {
			return fmt.Errorf("it switches hooks off: set %s to %t", k.path, !k.value)
		}
	}
	return nil
}

// undo gives the text without the hook, and whether there should be a file at all.
func (e edited) undo(a *Adapter, now []byte, there bool, h Hook) ([]byte, bool) {
	if !there || bytes.Equal(now, e.After) {
		return e.Before, e.Existed
	}
	rest := a.strip(a, now, e.Before, h)
	tree, err := readJSON(rest)
	return rest, e.Existed || err != nil || len(tree) > 0 // nobody would miss settings that hold nothing
}

// Uninstall takes the hook out wherever Install put it. Files that nobody touched since are as they were before.
func (i Installation) Uninstall() (files []string, err error) {
	r, err := i.record()
	if err == nil && len(r.Edits) == 0 {
		err = ErrNotInstalled
	}
	if err != nil {
		return nil, err
	}
	for agent, e := range r.Edits {
		if err := i.uninstall(agent, e, r); err != nil {
			return files, fmt.Errorf("uninstall for %s: %w", agent, err)
		}
		files = append(files, e.File)
	}
	return files, os.RemoveAll(i.State)
}

// ErrNotInstalled says that there is no guard around the directory.
var ErrNotInstalled = errors.New("the guard is not installed here")

func (i Installation) uninstall(agent string, e edited, r record) error {
	now, there, err := readIfThere(e.File)
	if err != nil || !there {
		return err
	}
	a, err := i.adapter(agent)
	if err != nil {
		return err
	}
	data, keep := e.undo(a, now, there, i.hook(a, r))
	if keep {
		return whole.Replace(e.File, data, 0o600)
	}
	if err := os.Remove(e.File); err != nil {
		return err
	}
	// The directory may have been made for this file; one that holds something else stays.
	_ = os.Remove(filepath.Dir(e.File))
	return nil
}

// Agents are those that the guard was installed for.
func (i Installation) Agents() ([]string, error) {
	r, err := i.record()
	return slices.Sorted(maps.Keys(r.Edits)), err
}

func (i Installation) record() (record, error) {
	r := record{Edits: map[string]edited{}}
	data, there, err := readIfThere(i.recordFile())
	if err != nil || !there {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", i.recordFile(), err)
	}
	return r, nil
}
