package jail

import (
	"encoding/binary"
	"errors"
)

// A plan is sent as bytes in a fixed order. JSON would change arguments that are not valid UTF-8, and reading it takes
// as long as building the box.

// Encode returns the plan as it is sent: its length, then its content.
func (p *Plan) Encode() []byte {
	c := &codec{buf: make([]byte, 4, 16<<10)}
	p.pass(c)
	binary.LittleEndian.PutUint32(c.buf, uint32(len(c.buf)-4))
	return c.buf
}

// decode reads a plan that Encode wrote, without the length.
func (p *Plan) decode(data []byte) error {
	c := &codec{buf: data, reading: true}
	p.pass(c)
	if c.bad || len(c.buf) > 0 {
		return errors.New("plan is not one of ours")
	}
	return nil
}

// pass writes the plan, or reads it.
func (p *Plan) pass(c *codec) {
	flags(c, &p.Shared, &p.Contained, &p.Bare, &p.Nested, &p.Network, &p.Become, &p.TTY)
	texts(c, &p.Read, &p.Dirs, &p.Sockets, &p.Write, &p.Reach, &p.Argv, &p.Env)
	numbers(c, &p.UID, &p.GID, &p.Cgroups, &p.Procs)
	numbers(c, &p.Landlock, &p.Seccomp)
	numbers(c, &p.Tmp)
	text(c, &p.Hostname)
	text(c, &p.Dir)
	list(c, &p.Files, func(f *File) {
		text(c, &f.Path)
		text(c, &f.Data)
		numbers(c, &f.Mode)
	})
	list(c, &p.Links, func(l *Link) {
		text(c, &l.Path)
		text(c, &l.Target)
	})
	list(c, &p.Mounts, func(m *Mount) {
		text(c, &m.Source)
		text(c, &m.Target)
		text(c, &m.Layer)
		flags(c, &m.File, &m.Write, &m.Device, &m.Handed, &m.Plain, &m.Copy, &m.Own, &m.Empty, &m.Host, &m.Soft, &m.Found)
	})
}

// codec writes values to the end of the buffer, or reads them from its beginning. After the first error it reads zeros.
type codec struct {
	buf          []byte
	reading, bad bool
}

func numbers[T ~int | ~int64 | ~uint32](c *codec, values ...*T) {
	for _, v := range values {
		if !c.reading {
			c.buf = binary.AppendVarint(c.buf, int64(*v))
			continue
		}
		n, size := binary.Varint(c.buf)
		if size <= 0 {
			c.bad, c.buf = true, nil
			return
		}
		*v, c.buf = T(n), c.buf[size:]
	}
}

func flags(c *codec, values ...*bool) {
	for _, v := range values {
		n := 0
		if *v {
			n = 1
		}
		numbers(c, &n)
		*v = n == 1
	}
}

// count passes the number of entries in a list. Each entry takes at least one byte.
func count(c *codec, n int) int {
	numbers(c, &n)
	if c.reading && (c.bad || n < 0 || n > len(c.buf)) {
		c.bad, c.buf = true, nil
		return 0
	}
	return n
}

func text[T string | []byte](c *codec, v *T) {
	n := count(c, len(*v))
	if c.reading {
		*v, c.buf = T(c.buf[:n]), c.buf[n:]
		return
	}
	c.buf = append(c.buf, *v...)
}

func list[T any](c *codec, v *[]T, each func(*T)) {
	if n := count(c, len(*v)); c.reading {
		*v = make([]T, n)
	}
	for i := range *v {
		each(&(*v)[i])
	}
}

func texts(c *codec, values ...*[]string) {
	for _, v := range values {
		list(c, v, func(s *string) { text(c, s) })
	}
}
