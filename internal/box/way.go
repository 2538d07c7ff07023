package box

import (
	"context"
	"path/filepath"
	"slices"
)

// Way is a way out for one program: a unix socket of the host, behind which the broker decides what leaves.
type Way struct {
	Socket string   // in a directory of its own, which the program is shown
	Inside string   // where the program sees the socket already, so that nothing has to be shown
	Env    []string // by which programs find it; the relay puts its address where its mark is
}

// Led makes a run take its way out, by the relay of the cco-box that the box has at tool. Drivers begin with it.
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

// led opens a way out for as long as a box is set up, if there is anything to run for that.
func (s *Boxes) led(ctx context.Context, b *Box, do func() error) error {
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

// Change writes the record of a box anew, as change leaves it.
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
