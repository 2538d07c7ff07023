package door

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/cco-dev/cco/internal/broker"
)

// ReadLog calls each for the entries of a record, file by file, and reads at most the last so many bytes
// of each file.
func ReadLog(path string, most int64, each func(broker.Entry)) error {
	for _, name := range LogFiles(path) {
		if err := readEnd(name, most, each); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func readEnd(name string, most int64, each func(broker.Entry)) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	from := max(0, info.Size()-most)
	lines := bufio.NewScanner(io.NewSectionReader(f, from, info.Size()-from))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e broker.Entry
		if json.Unmarshal(lines.Bytes(), &e) == nil { // half a line at the beginning is none
			each(e)
		}
	}
	return lines.Err()
}
