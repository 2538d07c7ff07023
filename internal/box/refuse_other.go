//go:build !linux

package box

import "context"

// refusing is the driver of a backend that can't work on this system.
type refusing struct{ err *Unavailable }

// Refusing makes a driver that refuses everything and says why.
func Refusing(what, why, mend string) Driver {
	return refusing{&Unavailable{What: what, Why: why, Mend: mend}}
}

func (r refusing) Check(context.Context) error                           { return r.err }
func (r refusing) Create(context.Context, *Box, Report) error            { return r.err }
func (r refusing) Start(context.Context, *Box, Report) error             { return r.err }
func (r refusing) Stop(context.Context, *Box) error                      { return r.err }
func (r refusing) Destroy(context.Context, *Box) error                   { return r.err }
func (r refusing) Running(context.Context, *Box) (bool, error)           { return false, r.err }
func (r refusing) Provision(context.Context, *Box, []File, Report) error { return r.err }
func (r refusing) Prepare(context.Context, *Box, string) (Place, error)  { return Place{}, r.err }
func (r refusing) Run(context.Context, *Box, Exec) error                 { return r.err }
func (r refusing) Halt(context.Context, *Box, string) error              { return r.err }
func (r refusing) Discard(context.Context, *Box, string) error           { return r.err }
func (r refusing) Layers(context.Context, *Box) ([]Layer, error)         { return nil, r.err }
func (r refusing) Promises(*Box) []string                                { return nil }
