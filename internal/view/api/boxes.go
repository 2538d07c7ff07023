package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/store"
)

func (d *Desk) boxes(ctx context.Context, _ *http.Request) ([]Box, error) {
	all, err := d.Sessions.Boxes.List(ctx)
	if err != nil {
		return nil, err
	}
	list, err := d.Sessions.List(ctx, "")
	if err != nil {
		return nil, err
	}
	out := []Box{}
	for _, b := range all {
		out = append(out, d.box(b, list))
	}
	return out, nil
}

func (d *Desk) box(b box.Status, list []store.Session) Box {
	out := Box{Name: b.Name, Backend: b.Backend, State: b.State, Detail: b.Detail, Created: b.Created, Network: b.Network}
	for _, v := range list {
		if v.Box != b.Name {
			continue
		}
		out.Total++
		if v.Live() {
			out.Live++
		}
		out.Spent = out.Spent.Add(v.Spent)
	}
	return out
}

// caution is what `cco box net allow` means.
const caution = "From now on every session of this box reaches the host, also those at work, and can send it " +
	"whatever is in its workspace. `cco box net deny` takes it back."

// Bounds on what is read of logs, and shown.
const (
	logBytes = 1 << 20
	logShown = 200
)

func (d *Desk) safety(ctx context.Context, r *http.Request) (Safety, error) {
	name := r.PathValue("name")
	st, err := d.Sessions.Boxes.Status(ctx, name)
	if err != nil {
		return Safety{}, err
	}
	out := Safety{Caution: caution, Layers: st.Layers}
	list, err := d.Sessions.List(ctx, name)
	out.Wrong = without(out.Wrong, "its sessions", err)
	out.Box = d.box(st, list)
	out.Verify, err = d.App.Verified(name)
	out.Wrong = without(out.Wrong, "the last verify", err)
	cfg, err := d.App.ConfigIn("")
	out.Wrong = without(out.Wrong, "settings", err)
	if err == nil {
		reach, err := d.App.Reach(ctx, cfg, name)
		out.Wrong = without(out.Wrong, "what may leave it", err)
		out.Allowed = reach.Allowed
	}
	files := []string{filepath.Join(d.Sessions.Boxes.Dir(name), door.LogFile)}
	for _, v := range list[:min(len(list), logShown)] {
		files = append(files, d.Sessions.NetFile(v.ID))
	}
	out.Left, out.Refused, err = traffic(files)
	out.Wrong = without(out.Wrong, "what left it", err)
	out.Wrong = without(out.Wrong, "what the guard denied", d.denials(&out, list))
	return out, ctx.Err()
}

// traffic adds up what left and what was refused, by host, as logs say.
func traffic(files []string) (gone, stopped []Left, err error) {
	type key struct{ host, why string }
	left, refused := map[key]*Left{}, map[key]*Left{}
	add := func(e broker.Entry) {
		host := e.Host
		if e.Port != 0 {
			host = fmt.Sprintf("%s:%d", host, e.Port)
		}
		to, why, stayed := left, e.Rule, e.Decision != broker.Allowed && e.Decision != broker.Failed
		if stayed {
			to, why = refused, e.Reason
		}
		if e.Kind == broker.KindModel && why == "" {
			why = "its model"
		}
		l := to[key{host, why}]
		if l == nil {
			l = &Left{Host: host}
			to[key{host, why}] = l
		}
		if stayed {
			l.Reason, l.Allow = why, e.Allow
		} else {
			l.Rule = why
		}
		l.Count += max(1, e.Count)
		l.Out, l.In = l.Out+e.In, l.In+e.Out
		if e.Time.After(l.Last) {
			l.Last, l.Session = e.Time, e.Session
		}
	}
	for _, f := range files {
		if err := door.ReadLog(f, logBytes, add); err != nil {
			return nil, nil, err
		}
	}
	return lastFirst(left), lastFirst(refused), nil
}

func lastFirst[K comparable](m map[K]*Left) []Left {
	out := []Left{}
	for _, l := range m {
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Left) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Host, b.Host))
	})
	return out[:min(len(out), logShown)]
}

// denials adds what the guard and the canary said of a box's sessions.
func (d *Desk) denials(out *Safety, list []store.Session) error {
	mine := map[string]bool{}
	for _, v := range list {
		mine[v.ID] = true
	}
	err := audit.Open(d.Sessions.Data, d.Now).Read(func(e audit.Entry) error {
		if mine[e.Session] {
			e.Input = nil
			out.Denials = append(out.Denials, e)
		}
		return nil
	})
	slices.Reverse(out.Denials)
	out.Denials = out.Denials[:min(len(out.Denials), logShown)]
	return err
}

// deeds is what was done on the page.
func (d *Desk) deeds(context.Context, *http.Request) ([]Deed, error) {
	out := []Deed{}
	log := &audit.Log{File: d.LogFile, Now: d.Now}
	err := log.Read(func(e audit.Entry) error {
		out = append(out, Deed{At: e.Time, What: e.Rule, On: e.Session, Decided: string(e.Input), Browser: e.Who,
			Result: e.Reason})
		return nil
	})
	slices.Reverse(out)
	return out[:min(len(out), logShown)], err
}
