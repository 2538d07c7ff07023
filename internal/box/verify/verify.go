// Package verify shows whether a box holds: it lays out bait on the host, runs the probes inside and then checks what
// they reached.
package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/proc"
)

// Result is the outcome of one probe.
type Result struct {
	Probe    string `json:"probe"`
	What     string `json:"what"`
	Held     bool   `json:"held"`
	Promised bool   `json:"promised"`
	Detail   string `json:"detail,omitempty"` // how it got through
}

// Options are the suite's settings beside the box.
type Options struct {
	Tool string        // cco-box on the host
	ID   func() string // makes the id of an unused session

	// in place of the broker, in a test of the probes themselves
	serve func(*behind) door.Server
}

// The probes run with these limits.
const (
	memoryLimit = 128 << 20
	procsLimit  = 64
)

// Run runs every probe in two sessions made for it, and removes them. The results show the broken promises of the box;
// the error is about what could not be tried.
func Run(ctx context.Context, d box.Driver, b *box.Box, o Options) (results []Result, err error) {
	t := &trial{driver: d, box: b, opts: o, found: map[string]probe.Finding{}}
	defer func() { err = errors.Join(err, t.clear(context.WithoutCancel(ctx))) }()
	if err := t.lay(ctx); err != nil {
		return nil, fmt.Errorf("lay out bait: %w", err)
	}
	if err := t.probeAll(ctx); err != nil {
		return nil, err
	}
	if err := t.throughDoor(ctx); err != nil {
		return nil, err
	}
	if err := t.bounds(ctx); err != nil {
		return nil, err
	}
	t.inspect()
	layers, err := d.Layers(ctx, t.box)
	if err != nil {
		return nil, fmt.Errorf("ask for layers: %w", err)
	}
	return t.results(layers), nil
}

// trial is one run of the suite.
type trial struct {
	driver box.Driver
	box    *box.Box
	opts   Options

	mine, other string // sessions
	place       box.Place
	bait        probe.Bait
	host        baits
	behind      *behind
	door        *door.Door
	found       map[string]probe.Finding
}

// results are the outcomes of all probes. If a layer is missing, its probes are not promised, and the detail says why.
func (t *trial) results(layers []box.Layer) []Result {
	promised, lost := t.driver.Promises(t.box), map[string]string{}
	for _, l := range layers {
		for _, name := range l.Lost {
			lost[name] = l.Detail
		}
	}
	promised = slices.DeleteFunc(slices.Clone(promised), func(name string) bool { return lost[name] != "" })
	var results []Result
	for _, p := range probe.All() {
		f, ok := t.found[p.Name]
		if !ok {
			f.Detail = "it gave no answer"
		}
		if why := lost[p.Name]; why != "" { // even if the bait itself could not be reached
			f.Held, f.Detail = false, why
		}
		results = append(results, Result{Probe: p.Name, What: p.What, Held: f.Held, Detail: f.Detail,
			Promised: slices.Contains(promised, p.Name)})
	}
	return results
}

// inside is a run of the probes in the session.
func (t *trial) inside(args ...string) box.Exec {
	return box.Exec{
		Session: t.mine,
		Argv:    append([]string{t.place.Tool, "probe"}, args...),
		Dir:     t.place.Exchange,
		Repo:    "cco-verify",
	}
}

// probeAll runs all probes at once, and then separately those that were ended with an earlier one.
func (t *trial) probeAll(ctx context.Context) error {
	var direct []string
	for _, p := range probe.All() {
		if p.Name != probe.Memory && p.Name != probe.Processes && p.Name != probe.DoorOutside &&
			!slices.Contains(probe.Doors(), p.Name) {
			direct = append(direct, p.Name)
		}
	}
	laid := make(chan struct{})
	waiting, stop := context.WithCancel(ctx)
	go func() {
		defer close(laid)
		t.layLater(waiting)
	}()
	err := t.probe(ctx, t.inside(direct...))
	stop()
	<-laid
	if err != nil {
		return err
	}
	for _, name := range direct {
		if _, ok := t.found[name]; ok {
			continue
		}
		if err := t.probe(ctx, t.inside(name)); err != nil {
			return err
		}
		if _, ok := t.found[name]; !ok {
			t.found[name] = probe.Finding{Probe: name, Held: true, Detail: "a process that tries is killed"}
		}
	}
	if !t.found[probe.UserNamespace].Held {
		return t.probeRooted(ctx, direct)
	}
	return nil
}

// probeRooted tries again as root of a namespace that was made in the box, if one can be made.
func (t *trial) probeRooted(ctx context.Context, names []string) error {
	args := []string{"rooted"}
	for _, name := range names {
		if name != probe.Capabilities && name != probe.Survivor {
			args = append(args, name)
		}
	}
	before := t.found
	t.found, t.bait.Rooted = map[string]probe.Finding{}, true
	err := t.probe(ctx, t.inside(args...))
	found := t.found
	t.found, t.bait.Rooted = before, false
	if err != nil {
		return err
	}
	for name, f := range found {
		if !f.Held {
			t.breach(name, "as root of a user namespace: "+f.Detail)
		}
	}
	return nil
}

func (t *trial) probe(ctx context.Context, e box.Exec) error {
	input, err := json.Marshal(t.bait)
	if err != nil {
		return err
	}
	var out, words bytes.Buffer
	e.Stdin, e.Stdout, e.Stderr = bytes.NewReader(input), &out, &words
	err = t.driver.Run(ctx, t.box, e)
	for line := range bytes.Lines(out.Bytes()) {
		var f probe.Finding
		if err := json.Unmarshal(line, &f); err != nil {
			return fmt.Errorf("probe: it said %q", line)
		}
		t.found[f.Probe] = f
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok && exit.Signal != 0 {
		return nil // one of them was ended
	}
	if err != nil {
		return fmt.Errorf("probe: %w: %s", err, bytes.TrimSpace(words.Bytes()))
	}
	return nil
}

// bounds tries to use more than a run is allowed.
func (t *trial) bounds(ctx context.Context) error {
	type try struct {
		name string
		args []string
	}
	tries := []try{{probe.Processes, []string{"spawn", "400"}}}
	for _, kind := range probe.Meals() {
		if kind == probe.Segment && !t.found[probe.OutsideIPC].Held {
			t.breach(probe.Memory, "System V memory is the host's, and nothing limits it")
			continue // memory taken there would stay with the host
		}
		tries = append(tries, try{probe.Memory, []string{"eat", "512", kind}})
	}
	for _, c := range tries {
		e := t.inside(c.args...)
		e.Limits = box.Limits{Memory: memoryLimit, Procs: procsLimit, Time: time.Minute}
		err := t.driver.Run(ctx, t.box, e)
		if err != nil && proc.Code(err) < 0 {
			return fmt.Errorf("probe %s: %w", c.name, err)
		}
		if f, ok := t.found[c.name]; ok && !f.Held {
			continue
		}
		f := probe.Finding{Probe: c.name, Held: err != nil}
		if !f.Held {
			f.Detail = "nothing stopped " + strings.Join(c.args, " ")
		}
		t.found[c.name] = f
	}
	return nil
}

// breach records what the host saw, whatever the probe itself reported.
func (t *trial) breach(name, detail string) {
	if f, ok := t.found[name]; ok && !f.Held {
		return
	}
	t.found[name] = probe.Finding{Probe: name, Detail: detail}
}

// inspect checks the bait, and looks for processes that outlived their run.
func (t *trial) inspect() {
	for _, f := range t.host.files {
		if text, err := os.ReadFile(f.path); err != nil || string(text) != f.text {
			t.breach(f.probe, f.path+" was changed")
		}
	}
	for _, l := range t.host.listeners {
		if l.calls.Load() > 0 {
			t.breach(l.probe, "a connection arrived")
		}
	}
	select {
	case <-t.host.process.Done():
		t.breach("outside-kill", "the process outside has ended")
	default:
	}
	t.survivor()
}

// survivor watches the file of a process that should have died with its run.
func (t *trial) survivor() {
	file := filepath.Join(t.box.Exchange, t.mine, "survivor")
	before, err := os.Stat(file)
	if err != nil {
		t.breach(probe.Survivor, "it never started, so this shows nothing")
		return
	}
	for range 20 {
		time.Sleep(20 * time.Millisecond)
		now, err := os.Stat(file)
		if err == nil && now.Size() > before.Size()+1 {
			t.breach(probe.Survivor, "a process outlived its run")
			return
		}
	}
}
