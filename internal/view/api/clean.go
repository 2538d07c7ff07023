package api

import (
	"bytes"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// clean makes every text of an answer safe to show, whoever wrote it: control and bidirectional characters are spelled
// out. One place does it for all answers, so that none can be forgotten.
func clean(v any) any {
	at := reflect.New(reflect.TypeOf(v)).Elem()
	at.Set(reflect.ValueOf(v))
	cleanValue(at)
	return at.Interface()
}

var timeType = reflect.TypeFor[time.Time]()

func cleanValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(safetext.Spell(v.String()))
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0)) // a list is never null
		}
		for i := range v.Len() {
			cleanValue(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			cleanValue(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == timeType {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				cleanValue(v.Field(i))
			}
		}
	}
}

// lines keeps what a command says, a line each.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// maxSaid bounds it.
const maxSaid = 64 << 10

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buf.Len() < maxSaid {
		l.buf.Write(p)
	}
	return len(p), nil
}

func (l *lines) list() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "cco: "); line != "" {
			all = append(all, line)
		}
	}
	return all
}
