package door

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/cco-dev/cco/internal/broker"
)

// LogFile is the name of a record of what left: a session's in its directory, that of shells and setup commands in
// their box's.
const LogFile = "net.jsonl"

// MaxLog bounds one file of the record; the one before it is kept too, as LogFile.1. A box decides how often it asks.
const MaxLog = 8 << 20

// netLog writes the record, a line of JSON each. Shells of one box write the same file, so it is opened for each.
type netLog struct {
	path string
	most int64
	mu   sync.Mutex
}

func (l *netLog) add(e broker.Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := os.Stat(l.path); err == nil && st.Size() > l.most {
		_ = os.Rename(l.path, l.path+".1")
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}
