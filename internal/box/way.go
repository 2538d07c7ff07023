package box

import (
	"context"
	"path/filepath"
	"slices"
)

// Way is a way out for one program: a unix socket on the host, behind which the broker decides what leaves.
type Way struct {
	Socket string   // in a directory of its own that the program can see
	Inside string   // where the program already sees the socket, so that no directory has to be shown
	Env    []string // tells programs where it is; the relay replaces its mark with its address
}

// Led makes a run use its way out, through the relay of the cco-box at tool in the box. Drivers call it first.
func (e Exec) Led(tool string) Exec {
	e.Own = e.Own || e.Fill || e.Furnish
	if e.Way == nil {
		return e
	}
	way := *e.Way
	e.Way = nil
	if way.Inside == "" {
		way.Inside = way.Socket
		e.Binds = append(slices.Clone(e.Binds), Bind{Path: filepath.Dir(way.Socket), Door: true})
	}
	e.Argv = slices.Concat([]string{tool, "relay", way.Inside, "--"}, e.Argv)
	e.Env = slices.Concat(way.Env, e.Env)
	return e
}

// withWay opens a way out while a box is set up, if there are setup commands to run.
func (s *Boxes) withWay(ctx context.Context, b *Box, do func() error) error {
	if s.Way == nil || len(b.Spec.Setup) == 0 {
		return do()
	}
	way, done, err := s.Way(ctx, b)
	if err != nil {
		return err
	}
	defer done()
	b.Way = way
	defer func() { b.Way = nil }()
	return do()
}

// Change applies change to the settings of a box and saves its record.
func (s *Boxes) Change(ctx context.Context, name string, change func(*Spec) error) error {
	if err := CheckName(name); err != nil {
		return err
	}
	return s.locked(ctx, name, func() error {
		b, err := s.Record(name)
		if err != nil {
			return err
		}
		if err := change(&b.Spec); err != nil {
			return err
		}
		return save(b)
	})
}
