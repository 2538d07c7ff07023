package app

import (
	"encoding/json"
	"os"
	"sync"

	"github.com/cco-dev/cco/internal/broker"
)

// NetFile is the record of what left: a session's in its directory, that of shells and setup commands in their box's.
const NetFile = "net.jsonl"

// MaxNetLog bounds the record of a box's shells. What is in it before that is kept once.
const MaxNetLog = 8 << 20

// netLog writes entries, a line of JSON each.
type netLog struct {
	path string
	mu   sync.Mutex
}

func (l *netLog) add(e broker.Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := os.Stat(l.path); err == nil && st.Size() > MaxNetLog {
		_ = os.Rename(l.path, l.path+".1")
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(line, '\n'))
	_ = f.Close()
}
