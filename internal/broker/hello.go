package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

const (
	maxHello    = 64 << 10       // bytes of a ClientHello and the records around it
	maxRecord   = 16<<10 + 2<<10 // what TLS allows a record to have, generously
	recordShake = 22             // the type of handshake records
	recordHead  = 5
	shakeHead   = 4
)

// hello is the part of a TLS ClientHello that names its destination.
type hello struct {
	name   string // the server name; "" if there is none
	hidden bool   // another name may be encrypted in it (ECH)
}

var errHello = errors.New("it is not a TLS ClientHello")

// readHello reads records from r until the ClientHello in them is complete, even if it spans several. It gives what it
// read, byte by byte, to be sent on.
func readHello(r io.Reader) (h hello, raw []byte, err error) {
	var msg []byte
	for {
		start := len(raw)
		raw = append(raw, make([]byte, recordHead)...)
		if _, err := io.ReadFull(r, raw[start:]); err != nil {
			return h, raw[:start], err
		}
		n, err := recordLen(raw[start:])
		if err != nil {
			return h, raw, err
		}
		if raw[start] != recordShake || n == 0 || len(raw)+n > maxHello {
			return h, raw, errHello
		}
		at := len(raw)
		raw = append(raw, make([]byte, n)...)
		if _, err := io.ReadFull(r, raw[at:]); err != nil {
			return h, raw[:at], err
		}
		msg = append(msg, raw[at:]...)
		if len(msg) < shakeHead {
			continue
		}
		want := shakeHead + int(msg[1])<<16 + int(binary.BigEndian.Uint16(msg[2:]))
		if msg[0] != 1 || want > maxHello {
			return h, raw, errHello
		}
		if len(msg) >= want {
			if len(msg) > want {
				return h, raw, errHello // nothing may follow it in its record
			}
			h, err = parseHello(msg[shakeHead:])
			return h, raw, err
		}
	}
}

// recordLen checks a record's head and gives the length of what follows it.
func recordLen(head []byte) (int, error) {
	n := int(binary.BigEndian.Uint16(head[3:]))
	if head[0] < 20 || head[0] > 24 || head[1] != 3 || head[2] > 4 || n > maxRecord {
		return 0, errHello
	}
	return n, nil
}

// parseHello reads the body of a ClientHello (RFC 8446, 4.1.2).
func parseHello(b []byte) (h hello, err error) {
	c := cut{b: b}
	c.take(2 + 32)
	c.take(c.number(1)) // session id
	c.take(c.number(2)) // cipher suites
	c.take(c.number(1)) // compression methods
	if c.bad {
		return h, errHello
	}
	if len(c.b) == 0 {
		return h, nil // no extensions at all
	}
	exts := cut{b: c.take(c.number(2))}
	if c.bad || len(c.b) > 0 {
		return h, errHello
	}
	named := false
	for len(exts.b) > 0 {
		kind := exts.number(2)
		body := exts.take(exts.number(2))
		if exts.bad {
			return h, errHello
		}
		switch kind {
		case 0:
			if named {
				return h, errHello // two of them: it is unclear which one counts
			}
			named = true
			if h.name, err = serverName(body); err != nil {
				return h, err
			}
		case 0xfe0d:
			h.hidden = true
		}
	}
	return h, nil
}

// serverName reads the server_name extension: a list with one host name (RFC 6066, 3).
func serverName(b []byte) (string, error) {
	c := cut{b: b}
	list := cut{b: c.take(c.number(2))}
	kind := list.number(1)
	name := list.take(list.number(2))
	if c.bad || list.bad || len(c.b) > 0 || len(list.b) > 0 || kind != 0 || len(name) == 0 {
		return "", errHello
	}
	return string(name), nil
}

// cut takes pieces off a message.
type cut struct {
	b   []byte
	bad bool
}

func (c *cut) take(n int) []byte {
	if c.bad || n > len(c.b) {
		c.bad = true
		return nil
	}
	p := c.b[:n]
	c.b = c.b[n:]
	return p
}

func (c *cut) number(bytes int) (n int) {
	for _, b := range c.take(bytes) {
		n = n<<8 | int(b)
	}
	return n
}

// follow copies what comes after the hello, record by record, for as long as it comes. A second ClientHello, which a
// server may ask for, must pass the same check as the first.
func follow(dst io.Writer, src io.Reader, buf []byte, check func(hello) error, moved func()) (total int64, err error) {
	for {
		if _, err := io.ReadFull(src, buf[:recordHead]); err != nil {
			return total, err
		}
		n, err := recordLen(buf)
		if err != nil {
			return total, refuse("what follows the TLS hello is not TLS")
		}
		record := buf[:recordHead+n]
		if _, err := io.ReadFull(src, record[recordHead:]); err != nil {
			return total, err
		}
		if record[0] == recordShake && another(record[recordHead:]) {
			h, raw, err := readHello(io.MultiReader(bytes.NewReader(bytes.Clone(record)), src))
			if err != nil {
				return total, refuse("a second TLS hello is broken")
			}
			if err := check(h); err != nil {
				return total, err
			}
			record = raw
		}
		moved()
		m, err := dst.Write(record)
		total += int64(m)
		if err != nil {
			return total, err
		}
	}
}

// another says whether a handshake record may be the beginning of a ClientHello. Encrypted ones look random: one in
// four thousand million looks like this, and is refused.
func another(b []byte) bool {
	if len(b) < shakeHead+2 {
		return len(b) > 0 && b[0] == 1
	}
	return b[0] == 1 && b[1] == 0 && b[4] == 3 && b[5] <= 4
}
