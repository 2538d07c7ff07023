package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"
)

// Read gives every entry, the oldest first. Lines that are none are passed over.
func (l *Log) Read(each func(Entry) error) error {
	for _, name := range []string{l.File + ".1", l.File} {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		t := &tail{file: f}
		err = t.drain(each)
		t.close()
		if err != nil {
			return err
		}
	}
	return nil
}

// Follow gives every entry and then each new one, looking every so often, until ctx ends.
func (l *Log) Follow(ctx context.Context, every time.Duration, each func(Entry) error) error {
	t := &tail{}
	defer t.close()
	if err := (&Log{File: l.File + ".1"}).Read(each); err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if err := l.catchUp(t, each); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// catchUp reads what is new. When the file was moved away, its rest comes first.
func (l *Log) catchUp(t *tail, each func(Entry) error) error {
	now, err := os.Open(l.File)
	if errors.Is(err, os.ErrNotExist) {
		return t.drain(each)
	}
	if err != nil {
		return err
	}
	have, _ := t.file.Stat() // which it isn't at first
	there, err := now.Stat()
	if err == nil {
		err = t.drain(each)
	}
	if err != nil || os.SameFile(have, there) {
		_ = now.Close() // nothing was read from it
		return err
	}
	t.close()
	t.file = now
	return t.drain(each)
}

// tail reads a growing file line by line.
type tail struct {
	file *os.File
	rest []byte // a line that isn't whole yet
}

func (t *tail) close() {
	_ = t.file.Close() // only read
	t.file, t.rest = nil, nil
}

func (t *tail) drain(each func(Entry) error) error {
	if t.file == nil {
		return nil
	}
	r := bufio.NewReaderSize(t.file, 64<<10)
	for {
		part, err := r.ReadSlice('\n')
		if t.rest = append(t.rest, part...); len(t.rest) > maxLine*2 {
			t.rest = t.rest[:0] // no entry is as long as that
		}
		switch {
		case err == nil:
			var e Entry
			if json.Unmarshal(bytes.TrimSpace(t.rest), &e) == nil && e.Kind != "" {
				if err := each(e.clean()); err != nil {
					return err
				}
			}
			t.rest = t.rest[:0]
		case errors.Is(err, io.EOF):
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
