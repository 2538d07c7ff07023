package view

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/view/entry"
	"github.com/cco-dev/cco/internal/whole"
)

// place is the directory in which a server keeps how it is found and entered. Only the user can read it.
type place struct{ dir string }

func openPlace(data string) (place, error) {
	p := placeOf(data)
	return p, os.MkdirAll(p.dir, 0o700)
}

func placeOf(data string) place {
	return place{filepath.Join(data, filepath.Dir(filepath.FromSlash(app.PageFile)))}
}

func (p place) file(name string) string { return filepath.Join(p.dir, name) }

const keySize = 32

// key is the secret that cookies and the token are made of. It lasts, so that pages come back when a server was started
// again.
func (p place) key() ([]byte, error) {
	key, err := os.ReadFile(p.file("key"))
	if errors.Is(err, fs.ErrNotExist) {
		key = make([]byte, keySize)
		_, _ = rand.Read(key) // never fails
		err = p.replace("key", key)
	}
	if err == nil && len(key) != keySize {
		return nil, fmt.Errorf("%s is damaged: `cco view forget` makes another", p.file("key"))
	}
	return key, err
}

// keyring is the key while the page is served. It is the file: who removes that lets nobody in any more, and those who
// came in with the last one are sent away.
type keyring struct {
	at     place
	life   context.Context // of the page
	forget func()          // the codes that were made meanwhile

	mu    sync.Mutex
	key   []byte
	while context.Context
	end   context.CancelFunc
}

// now is the key, and how long it holds; none if it can't be read.
func (k *keyring) now() ([]byte, context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key, err := k.at.key()
	if err != nil {
		key = nil
	}
	if k.while == nil || !bytes.Equal(key, k.key) {
		if k.end != nil {
			k.end()
			k.forget()
		}
		k.key = key
		k.while, k.end = context.WithCancel(k.life)
		if key != nil {
			_ = k.at.replace("token", []byte(entry.Token(key)+"\n")) // without it programs are not let in
		}
	}
	return k.key, k.while
}

// keyEvery is how soon those are sent away who only listen.
const keyEvery = 200 * time.Millisecond

// watch looks at the key as long as the page is served.
func (k *keyring) watch() {
	for tick := time.NewTicker(keyEvery); ; {
		select {
		case <-k.life.Done():
			tick.Stop()
			return
		case <-tick.C:
			k.now()
		}
	}
}

// Found is a server that runs.
type Found struct {
	Address string `json:"address"` // http://127.0.0.1:…
	PID     int    `json:"pid"`
	Log     string `json:"log"` // what was done on the page
}

// lock makes this process the server of its data directory; ok is false if there is one.
func (p place) lock() (unlock func() error, ok bool, err error) {
	l := flock.New(p.file("lock"), flock.SetPermissions(0o600))
	if ok, err = l.TryLock(); err != nil || !ok {
		return nil, false, err
	}
	return l.Unlock, true, nil
}

// write says where the server is.
func (p place) write(f Found) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return p.replace(filepath.Base(app.PageFile), data)
}

// replace writes a file whole: at no moment does a door read half of it, and take the page's port for another.
func (p place) replace(name string, data []byte) error { return whole.Write(p.file(name), data, 0o600) }

func (p place) read() (f Found, err error) {
	data, err := os.ReadFile(p.file(filepath.Base(app.PageFile)))
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}
