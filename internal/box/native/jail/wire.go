package jail

import (
	"encoding/binary"
	"errors"
)

// A plan is sent as bytes in a fixed order. JSON would change arguments that are not valid UTF-8, and reading it takes
// as long as building the box.

// Encode returns the plan as it is sent: its length, then its content.
func (p *Plan) Encode() []byte {
	w := &writer{buf: make([]byte, 4, 16<<10)}
	w.flag(p.Shared)
	w.flag(p.Contained)
	w.flag(p.Bare)
	w.texts(p.Read)
	w.flag(p.Nested)
	w.flag(p.Network)
	w.text(p.Hostname)
	w.number(int64(p.UID))
	w.number(int64(p.GID))
	w.flag(p.Become)
	w.number(int64(p.Cgroups))
	w.texts(p.Dirs)
	w.number(int64(len(p.Files)))
	for _, f := range p.Files {
		w.text(f.Path)
		w.text(string(f.Data))
		w.number(int64(f.Mode))
	}
	w.number(int64(len(p.Links)))
	for _, l := range p.Links {
		w.text(l.Path)
		w.text(l.Target)
	}
	w.number(int64(len(p.Mounts)))
	for _, m := range p.Mounts {
		w.text(m.Source)
		w.text(m.Target)
		w.text(m.Layer)
		for _, b := range []bool{m.File, m.Write, m.Device, m.Handed, m.Plain, m.Copy, m.Own, m.Empty, m.Host, m.Soft,
			m.Found} {
			w.flag(b)
		}
	}
	w.texts(p.Sockets)
	w.number(p.Tmp)
	w.texts(p.Write)
	w.texts(p.Reach)
	w.number(int64(p.Landlock))
	w.number(int64(p.Seccomp))
	w.texts(p.Argv)
	w.texts(p.Env)
	w.text(p.Dir)
	w.flag(p.TTY)
	w.number(int64(p.Procs))
	binary.LittleEndian.PutUint32(w.buf, uint32(len(w.buf)-4))
	return w.buf
}

// decode reads a plan that Encode wrote, without the length.
func (p *Plan) decode(data []byte) error {
	r := &reader{buf: data}
	p.Shared = r.flag()
	p.Contained = r.flag()
	p.Bare = r.flag()
	p.Read = r.texts()
	p.Nested = r.flag()
	p.Network = r.flag()
	p.Hostname = r.text()
	p.UID = int(r.number())
	p.GID = int(r.number())
	p.Become = r.flag()
	p.Cgroups = int(r.number())
	p.Dirs = r.texts()
	p.Files = make([]File, r.count())
	for i := range p.Files {
		p.Files[i] = File{Path: r.text(), Data: []byte(r.text()), Mode: uint32(r.number())}
	}
	p.Links = make([]Link, r.count())
	for i := range p.Links {
		p.Links[i] = Link{Path: r.text(), Target: r.text()}
	}
	p.Mounts = make([]Mount, r.count())
	for i := range p.Mounts {
		m := Mount{Source: r.text(), Target: r.text(), Layer: r.text()}
		for _, b := range []*bool{&m.File, &m.Write, &m.Device, &m.Handed, &m.Plain, &m.Copy, &m.Own,
			&m.Empty, &m.Host, &m.Soft, &m.Found} {
			*b = r.flag()
		}
		p.Mounts[i] = m
	}
	p.Sockets = r.texts()
	p.Tmp = r.number()
	p.Write = r.texts()
	p.Reach = r.texts()
	p.Landlock = Demand(r.number())
	p.Seccomp = Demand(r.number())
	p.Argv = r.texts()
	p.Env = r.texts()
	p.Dir = r.text()
	p.TTY = r.flag()
	p.Procs = int(r.number())
	if r.bad || len(r.buf) > 0 {
		return errors.New("plan is not one of ours")
	}
	return nil
}

type writer struct{ buf []byte }

func (w *writer) number(n int64) { w.buf = binary.AppendVarint(w.buf, n) }

func (w *writer) text(s string) {
	w.number(int64(len(s)))
	w.buf = append(w.buf, s...)
}

func (w *writer) texts(list []string) {
	w.number(int64(len(list)))
	for _, s := range list {
		w.text(s)
	}
}

func (w *writer) flag(b bool) {
	if b {
		w.number(1)
	} else {
		w.number(0)
	}
}

// reader returns zero values after the first error.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.buf)
	if size <= 0 {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

// count reads the number of entries in a list. Each entry takes at least one byte.
func (r *reader) count() int {
	n := r.number()
	if n < 0 || n > int64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string {
	n := r.count()
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

func (r *reader) texts() []string {
	list := make([]string, r.count())
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *reader) flag() bool { return r.number() == 1 }
