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
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Follow gives every entry and then each new one, looking every so often, until ctx ends.
func (l *Log) Follow(ctx context.Context, every time.Duration, each func(Entry) error) error {
	t := &tail{}
	defer func() { t.close() }()
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
	if t.file != nil {
		if err := t.drain(each); err != nil {
			return err
		}
	}
	now, err := os.Lstat(l.File)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	if t.file != nil {
		if have, err := t.file.Stat(); err == nil && os.SameFile(have, now) {
			return nil
		}
		t.close()
	}
	if t.file, err = os.Open(l.File); err != nil {
		t.file = nil
		return err
	}
	return t.drain(each)
}

// tail reads a growing file line by line.
type tail struct {
	file *os.File
	rest []byte // a line that isn't whole yet
}

func (t *tail) close() {
	if t.file != nil {
		_ = t.file.Close() // only read
	}
	t.file, t.rest = nil, nil
}

func (t *tail) drain(each func(Entry) error) error {
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
