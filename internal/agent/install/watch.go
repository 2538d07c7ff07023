package install

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Watch is told every second how far an installation is. It may be nil.
type Watch func(bytes int64, took time.Duration)

// over watches a directory grow until it is stopped.
func (w Watch) over(dir string) (stop func()) {
	if w == nil {
		return func() {}
	}
	begun, quit, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case now := <-tick.C:
				w(size(dir), now.Sub(begun))
			}
		}
	}()
	return func() { close(quit); <-done }
}

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // npm moves things about
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// TLSError says that npm refused the certificate of its registry, or of a proxy before it.
type TLSError struct{ Err error }

func (e *TLSError) Error() string {
	return fmt.Sprintf("%v\nthe registry's certificate was not accepted: if a proxy on the way signs with a certificate "+
		"of its own, name the file of its authority with `npm config set cafile FILE`, or set NODE_EXTRA_CA_CERTS=FILE",
		e.Err)
}

func (e *TLSError) Unwrap() error { return e.Err }

// certificateCodes are Node's words for a certificate that it does not accept.
var certificateCodes = [...]string{"SELF_SIGNED_CERT", "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
	"CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID", "CERT_UNTRUSTED", "ERR_TLS_CERT_ALTNAME_INVALID", "CERT_SIGNATURE_FAILURE",
	"self-signed certificate", "unable to get local issuer certificate"}

// explain adds what to do to an error of npm's.
func explain(err error) error {
	for _, code := range certificateCodes {
		if strings.Contains(err.Error(), code) {
			return &TLSError{err}
		}
	}
	return err
}
