package door

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/cco-dev/cco/internal/broker"
)

// LogFile is the name of a record of what left: a session's is in its directory, that of shells and setup commands in
// their box's.
const LogFile = "net.jsonl"

// MaxLog limits one file of the record; the previous file is kept too, as LogFile.1. A box decides how often it asks.
const MaxLog = 8 << 20

// logFile is made when there is something to write. The shells of a box share one, so it is opened for each line.
type logFile struct {
	path string
	most int64
	mu   sync.Mutex
}

// add writes an entry of the record, a line of JSON.
func (l *logFile) add(e broker.Entry) {
	if line, err := json.Marshal(e); err == nil {
		_, _ = l.Write(append(line, '\n'))
	}
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := os.Stat(l.path); err == nil && st.Size() > l.most {
		_ = os.Rename(l.path, l.path+".1")
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return f.Write(p)
}
