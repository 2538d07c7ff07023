package view

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/app"
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
// again; who removes it lets nobody in any more.
func (p place) key() ([]byte, error) {
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	f, err := os.OpenFile(p.file("key"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(key)
		return key, errors.Join(err, f.Sync(), f.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if key, err = os.ReadFile(p.file("key")); err != nil {
		return nil, err
	}
	if len(key) != keySize {
		return nil, fmt.Errorf("%s is damaged: remove it, and come in again with a code", p.file("key"))
	}
	return key, nil
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

// write says where the server is, and the token by which programs come in.
func (p place) write(f Found, token string) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return errors.Join(p.replace("token", []byte(token+"\n")), p.replace(filepath.Base(app.PageFile), data))
}

// replace writes a file whole: at no moment does a door read half of it, and take the page's port for another.
func (p place) replace(name string, data []byte) error {
	tmp, err := os.CreateTemp(p.dir, "."+name+"-*") // 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), p.file(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

func (p place) read() (f Found, err error) {
	data, err := os.ReadFile(p.file(filepath.Base(app.PageFile)))
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	return f, err
}
