package inside

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// How often it is looked whether a file has grown, while some do and when they are silent, how many files are looked
// at, the newest by name, and how much of one is read at a time.
const (
	recordBusy  = 50 * time.Millisecond
	recordIdle  = 250 * time.Millisecond
	recordFiles = 16
	recordChunk = 1 << 20
)

// Record copies the lines that are added to files whose names a pattern matches, until the context ends. An empty line
// says that it has begun: what was there before belongs to an earlier run. The files are an agent's own: it may make
// anything of them, and gets nothing but its own words copied.
func Record(ctx context.Context, pattern string, out io.Writer) error {
	at := map[string]int64{}
	for _, name := range records(pattern) {
		if info, err := os.Stat(name); err == nil {
			at[name] = info.Size()
		}
	}
	if _, err := io.WriteString(out, "\n"); err != nil {
		return err
	}
	for last := false; !last; {
		last = ctx.Err() != nil // what was written last is still copied
		wait := recordIdle
		for _, name := range records(pattern) {
			n, err := added(name, at[name], out)
			if err != nil {
				return err
			}
			if n > 0 {
				wait = recordBusy
			}
			at[name] += n
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

func records(pattern string) []string {
	all, _ := filepath.Glob(pattern) // the pattern is cco's own
	slices.Sort(all)
	return all[max(0, len(all)-recordFiles):]
}

// added copies the whole lines behind an offset. Only a writer that is gone is an error.
func added(name string, from int64, out io.Writer) (n int64, err error) {
	f, err := openFile(name)
	if err != nil {
		return 0, nil //nolint:nilerr // it is not there any more
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() <= from {
		return 0, nil //nolint:nilerr // nothing was added
	}
	data := make([]byte, min(info.Size()-from, recordChunk))
	got, _ := f.ReadAt(data, from) // what could be read counts
	data = data[:got]
	if end := bytes.LastIndexByte(data, '\n'); end >= 0 {
		data = data[:end+1]
	} else if got < recordChunk {
		return 0, nil
	}
	_, err = out.Write(data)
	return int64(len(data)), err
}
