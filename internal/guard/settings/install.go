package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/guard"
)

// Installation is the guard around one worktree or clone.
type Installation struct {
	Dir    string // the workspace, with links resolved
	State  string // where cco keeps what belongs to it
	Guard  string // cco-guard
	Places Places
	// Adapters are those of all agents; only those that work outside of boxes count.
	Adapters []Adapter
}

// Known are the agents whose hook can be registered.
func (i Installation) Known() (names []string) {
	for _, a := range i.Adapters {
		if in, ok := a.(installer); ok {
			names = append(names, in.Agent())
		}
	}
	return names
}

func (i Installation) adapter(agent string) (installer, error) {
	for _, a := range i.Adapters {
		if in, ok := a.(installer); ok && in.Agent() == agent {
			return in, nil
		}
	}
	return nil, &UnknownAgentError{agent, i.Known()}
}

// Launch is how to start an agent so that the guard holds as far as it can, and Gaps what it can't hold.
func (i Installation) Launch(agent string) (line string, gaps []string, err error) {
	a, err := i.adapter(agent)
	if err != nil {
		return "", nil, err
	}
	return a.launch(i), a.gaps(), nil
}

// below is a file in the workspace.
func (i Installation) below(name string) string { return filepath.Join(i.Dir, name) }

// record remembers what was done, so that it can be undone exactly.
type record struct {
	Dir    string            `json:"dir"`
	Guard  string            `json:"guard"`
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
func (i Installation) started(a Adapter) string { return filepath.Join(i.State, a.Agent()+".json") }

func (i Installation) recordFile() string { return filepath.Join(i.State, "install.json") }

// hook is an agent's hook. In a file of the user's it has to find out where it is.
func (i Installation) hook(a Adapter, r record) Hook {
	h := Hook{Guard: i.Guard, Policy: i.Policy(), Name: r.Name}
	if row(a).Local == "" && !r.System {
		h.Scope = i.Dir
	}
	return h
}

// Options say what Install does.
type Options struct {
	Agents []string
	// System writes the files that hold for everybody on the machine, and lets agents work in this workspace alone.
	System bool
	// Nonce is a word that nobody can guess.
	Nonce string
}

// Install registers the hook. What it writes twice is as if written once.
func (i Installation) Install(p guard.Policy, o Options) error {
	var adapters []installer
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
	r, _, err := i.record()
	if err != nil {
		return err
	}
	if r.System != o.System && len(r.Edits) > 0 {
		return errors.New("it is installed in another way already: run `cco guard uninstall` first")
	}
	r.Dir, r.Guard, r.System = i.Dir, i.Guard, o.System
	if r.Name == "" {
		r.Name = "cco-guard-" + o.Nonce
	}
	if err := i.writePolicy(p, adapters, o.System); err != nil {
		return err
	}
	for _, a := range adapters {
		if err := i.install(a, &r); err != nil {
			return fmt.Errorf("install for %s: %w", a.Agent(), err)
		}
	}
	return nil
}

// writePolicy also protects what this installation consists of.
func (i Installation) writePolicy(p guard.Policy, adapters []installer, system bool) error {
	p.Protected = append(p.Protected, i.Guard, i.State)
	for _, a := range adapters {
		p.Protected = append(p.Protected, i.target(a, system))
	}
	if err := p.Validate(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(i.Policy(), append(data, '\n'), 0o600); err != nil {
		return err
	}
	for _, a := range i.Adapters {
		if s, ok := a.(starter); ok {
			if err := replaceFile(i.started(a), s.started(i.hook(a, record{})), 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

func (i Installation) target(a Adapter, system bool) string {
	if system {
		return i.Places.managed(row(a))
	}
	return i.Places.file(row(a), i.Dir)
}

func (i Installation) install(a installer, r *record) error {
	target := i.target(a, r.System)
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
	if old, ok := r.Edits[a.Agent()]; ok && old.File == file {
		base.Before, base.Existed = old.undo(a, now, there, h)
	}
	if r.System {
		base.After, err = a.mergeSystem(base.Before, h)
	} else {
		base.After, err = a.merge(target, base.Before, h)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if r.Edits == nil {
		r.Edits = map[string]edited{}
	}
	// The record comes first: what it can't undo must never be written.
	r.Edits[a.Agent()] = base
	if err := i.save(*r); err != nil {
		return err
	}
	if bytes.Equal(now, base.After) {
		return nil
	}
	mode := os.FileMode(0o600)
	if r.System {
		mode = 0o644
	}
	return replaceFile(file, base.After, mode)
}

// undo gives the text without the hook, and whether there should be a file at all.
func (e edited) undo(a installer, now []byte, there bool, h Hook) ([]byte, bool) {
	if !there || bytes.Equal(now, e.After) {
		return e.Before, e.Existed
	}
	rest := a.strip(now, e.Before, h)
	return rest, e.Existed || !blankSettings(rest)
}

// blankSettings says whether settings hold nothing that anybody would miss.
func blankSettings(data []byte) bool {
	if len(bytes.TrimSpace(data)) == 0 {
		return true
	}
	n, err := parseJSON(data)
	return err == nil && len(n.members()) == 0
}

// Uninstall takes the hook out wherever Install put it. Files that nobody touched since are as they were before.
func (i Installation) Uninstall() (files []string, err error) {
	r, there, err := i.record()
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, ErrNotInstalled
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
		return replaceFile(e.File, data, 0o600)
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
	r, _, err := i.record()
	var list []string
	for _, a := range i.Known() {
		if _, ok := r.Edits[a]; ok {
			list = append(list, a)
		}
	}
	return list, err
}

func (i Installation) record() (r record, there bool, err error) {
	data, there, err := readIfThere(i.recordFile())
	if err != nil || !there {
		return r, false, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, false, fmt.Errorf("read %s: %w", i.recordFile(), err)
	}
	return r, true, nil
}

func (i Installation) save(r record) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return replaceFile(i.recordFile(), data, 0o600)
}
