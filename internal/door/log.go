package door

import (
	"encoding/json"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/unit"
)

// LogFile is the name of a record of what left: a session's is in its directory, that of shells and setup commands in
// their box's. What was refused is in another file beside it, see LogFiles.
const LogFile = "net.jsonl"

// MaxLog limits one file of the record; the previous file is kept too. A box decides how often it asks.
const MaxLog = 8 << 20

// maxRepeated is how many different refusals are counted at a time.
const maxRepeated = 1000

// LogFiles are the files of a record, the older ones first.
func LogFiles(path string) []string {
	refused := strings.TrimSuffix(path, ".jsonl") + "-refused.jsonl"
	return []string{path + ".1", path, refused + ".1", refused}
}

// record keeps what left apart from what did not, so that the box can't push it out by asking.
type record struct {
	left, refused *logFile
	mu            sync.Mutex
	repeated      map[broker.Entry]*repeats // by what is the same of them
}

type repeats struct {
	last           broker.Entry
	all, unwritten int
}

func newRecord(path string, most int64) *record {
	files := LogFiles(path)
	return &record{left: &logFile{path: files[1], most: most}, refused: &logFile{path: files[3], most: most},
		repeated: map[broker.Entry]*repeats{}}
}

// add writes an entry of the record. Of the same refusal the first is written, the second, the fourth and so on, with
// their number.
func (r *record) add(e broker.Entry) {
	if e.Decision == broker.Allowed || e.In > 0 {
		r.left.add(e)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	same := e
	same.Time, same.Millis, same.Out = time.Time{}, 0, 0
	n := r.repeated[same]
	if n == nil {
		if len(r.repeated) == maxRepeated {
			r.write()
		}
		n = &repeats{}
		r.repeated[same] = n
	}
	n.last = e
	n.all++
	n.unwritten++
	if n.all&(n.all-1) == 0 {
		r.count(n)
	}
}

func (r *record) count(n *repeats) {
	if n.unwritten > 1 {
		n.last.Count = n.unwritten
	}
	if n.unwritten > 0 {
		r.refused.add(n.last)
	}
	n.unwritten = 0
}

func (r *record) write() {
	for _, n := range r.repeated {
		r.count(n)
	}
	clear(r.repeated)
}

// flush writes what was counted and not written.
func (r *record) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.write()
}

// logFile is made when there is something to write. The shells of a box share one, so it is opened for each line.
type logFile struct {
	path string
	most int64
	mu   sync.Mutex
	lost int // entries that could not be written
}

// add writes an entry, a line of JSON. Of those that are lost the next one that can be written tells.
func (l *logFile) add(e broker.Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost += l.makeRoom()
	var lines []byte
	if l.lost > 0 {
		lines = line(broker.Entry{Time: e.Time, Session: e.Session, Decision: broker.Lost, Count: l.lost,
			Reason: unit.Count(l.lost, "line") + " before this one lost, or gone to make room"})
	}
	if _, err := l.append(append(lines, line(e)...)); err != nil {
		l.lost += max(1, e.Count)
		return
	}
	l.lost = 0
}

func line(e broker.Entry) []byte {
	data, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return append(data, '\n')
}

// makeRoom puts a full file in the place of the one before it, and says how many entries go with that.
func (l *logFile) makeRoom() (gone int) {
	if st, err := os.Stat(l.path); err != nil || st.Size() <= l.most {
		return 0
	}
	_ = readEnd(l.path+".1", l.most*2, func(e broker.Entry) { gone += max(1, e.Count) }) // usually there is none
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return 0
	}
	return gone
}

// Write writes what is no entry.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(p)
}

func (l *logFile) append(p []byte) (int, error) {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return f.Write(p)
}
