package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// object is one answer of git cat-file. An object that isn't there has the kind "missing".
type object struct {
	oid  string
	kind string
	size int64
	data []byte
}

// catFile is a running `git cat-file --batch`, so that reading an object doesn't cost a process.
type catFile struct {
	in   *os.File
	out  *bufio.Reader
	pipe *os.File
	p    *proc.Process
}

func openCatFile(ctx context.Context, h host) (*catFile, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = inR.Close(), inW.Close()
		return nil, err
	}
	c := h.cmd("cat-file", "--batch")
	c.Stdin, c.Stdout = inR, outW
	p, err := h.start(ctx, c)
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		_, _ = inW.Close(), outR.Close()
		return nil, err
	}
	return &catFile{in: inW, out: bufio.NewReaderSize(outR, 64<<10), pipe: outR, p: p}, nil
}

// close ends the process.
func (c *catFile) close() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.pipe.Close()
	_ = c.p.Wait()
}

// get reads one object of at most limit bytes; of a larger one there is only kind and size.
func (c *catFile) get(oid string, limit int64) (object, error) {
	if _, err := io.WriteString(c.in, oid+"\n"); err != nil {
		return object{}, fmt.Errorf("read object %s: %w", short(oid), err)
	}
	return c.read(oid, limit)
}

// atOnce is how many requests are on their way before the first answer is read: few enough that they fit into any
// pipe, or both sides would wait for ever.
const atOnce = 64

// each reads many objects, in order.
func (c *catFile) each(oids []string, limit int64, do func(object) error) error {
	for len(oids) > 0 {
		n := min(atOnce, len(oids))
		if _, err := io.WriteString(c.in, strings.Join(oids[:n], "\n")+"\n"); err != nil {
			return fmt.Errorf("read objects: %w", err)
		}
		for _, oid := range oids[:n] {
			o, err := c.read(oid, limit)
			if err != nil {
				return err
			}
			if err := do(o); err != nil {
				return err
			}
		}
		oids = oids[n:]
	}
	return nil
}

func (c *catFile) read(oid string, limit int64) (object, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return object{}, fmt.Errorf("read object %s: %w", short(oid), c.death(err))
	}
	o, err := parseObjectLine(line)
	if err != nil || o.kind == "missing" {
		return o, err
	}
	if o.size > limit {
		_, err = io.CopyN(io.Discard, c.out, o.size+1)
	} else {
		o.data = make([]byte, o.size+1)
		_, err = io.ReadFull(c.out, o.data)
		o.data = o.data[:o.size]
	}
	if err != nil {
		return object{}, fmt.Errorf("read object %s: %w", short(oid), c.death(err))
	}
	return o, nil
}

// death prefers the words of a git that has ended to "EOF".
func (c *catFile) death(err error) error {
	_ = c.in.Close()
	if end := c.p.Wait(); end != nil {
		return end
	}
	return err
}

// parseObjectLine reads "<oid> <kind> <size>" and "<oid> missing".
func parseObjectLine(line string) (object, error) {
	f := strings.Fields(line)
	if len(f) == 2 && f[1] == "missing" {
		return object{oid: f[0], kind: "missing"}, nil
	}
	if len(f) != 3 {
		return object{}, fmt.Errorf("read object: git answered %s", quote(strings.TrimSpace(line)))
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return object{}, fmt.Errorf("read object: git answered %s", quote(strings.TrimSpace(line)))
	}
	return object{oid: f[0], kind: f[1], size: size}, nil
}

// kinds asks for kind and size of many objects, in the order given, with one process.
func kinds(ctx context.Context, h host, oids []string, do func(object) error) error {
	if len(oids) == 0 {
		return nil
	}
	c := h.cmd("cat-file", "--batch-check", "--buffer")
	c.Stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
	return h.scanLines(ctx, c, '\n', func(line []byte) error {
		o, err := parseObjectLine(string(line))
		if err != nil {
			return err
		}
		return do(o)
	})
}
