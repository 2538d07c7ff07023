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

// Object is one answer of git cat-file. An object that isn't there has the kind "missing".
type Object struct {
	OID  string
	Kind string
	Size int64
	Data []byte
}

// CatFile is a running `git cat-file --batch`, so that reading an object doesn't cost a process.
type CatFile struct {
	in   *os.File
	out  *bufio.Reader
	pipe *os.File
	p    *proc.Process
}

// CatFile starts one.
func (h Host) CatFile(ctx context.Context) (*CatFile, error) {
	in, out, p, err := h.converse(ctx, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	return &CatFile{in: in, out: bufio.NewReaderSize(out, 64<<10), pipe: out, p: p}, nil
}

// Close ends the process.
func (c *CatFile) Close() {
	_ = c.in.Close()
	_, _ = io.Copy(io.Discard, c.out)
	_ = c.pipe.Close()
	_ = c.p.Wait()
}

// Get reads one object of at most limit bytes; a larger one has only its kind and size.
func (c *CatFile) Get(oid string, limit int64) (Object, error) {
	if _, err := io.WriteString(c.in, oid+"\n"); err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", Short(oid), err)
	}
	return c.read(oid, limit)
}

// atOnce is how many requests are on their way before the first answer is read: few enough that they fit into any
// pipe, or both sides would wait for ever.
const atOnce = 64

// Each reads many objects, in order.
func (c *CatFile) Each(oids []string, limit int64, do func(Object) error) error {
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

func (c *CatFile) read(oid string, limit int64) (Object, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", Short(oid), c.death(err))
	}
	o, err := parseObjectLine(line)
	if err != nil || o.Kind == "missing" {
		return o, err
	}
	if o.Size > limit {
		_, err = io.CopyN(io.Discard, c.out, o.Size+1)
	} else {
		o.Data = make([]byte, o.Size+1)
		_, err = io.ReadFull(c.out, o.Data)
		o.Data = o.Data[:o.Size]
	}
	if err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", Short(oid), c.death(err))
	}
	return o, nil
}

// death replaces "EOF" by the message of a git that has ended.
func (c *CatFile) death(err error) error {
	_ = c.in.Close()
	if end := c.p.Wait(); end != nil {
		return end
	}
	return err
}

// parseObjectLine reads "<oid> <kind> <size>" and "<oid> missing".
func parseObjectLine(line string) (Object, error) {
	if name, ok := strings.CutSuffix(strings.TrimSpace(line), " missing"); ok { // a name may have spaces
		return Object{OID: name, Kind: "missing"}, nil
	}
	f := strings.Fields(line)
	if len(f) != 3 {
		return Object{}, fmt.Errorf("read object: git answered %s", Quote(strings.TrimSpace(line)))
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return Object{}, fmt.Errorf("read object: git answered %s", Quote(strings.TrimSpace(line)))
	}
	return Object{OID: f[0], Kind: f[1], Size: size}, nil
}

// Kinds asks for kind and size of many objects, in the order given, with one process.
func (h Host) Kinds(ctx context.Context, oids []string, do func(Object) error) error {
	if len(oids) == 0 {
		return nil
	}
	c := h.Cmd("cat-file", "--batch-check", "--buffer")
	c.Stdin = strings.NewReader(strings.Join(oids, "\n") + "\n")
	return h.Scan(ctx, c, '\n', func(line []byte) error {
		o, err := parseObjectLine(string(line))
		if err != nil {
			return err
		}
		return do(o)
	})
}
