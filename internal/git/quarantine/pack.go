package quarantine

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/cco-dev/cco/internal/git"
)

// checkPackHeader reads the first 12 bytes of a pack: git would make room for as many objects as they promise.
func checkPackHeader(r io.Reader, most int) error {
	var b [12]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return refuse(RulePack, "the bundle ends before its pack")
	}
	if !bytes.HasPrefix(b[:], []byte("PACK\x00\x00\x00\x02")) {
		return refuse(RulePack, "the bundle holds no pack of version 2")
	}
	if n := binary.BigEndian.Uint32(b[8:]); n == 0 || uint64(n) > uint64(most) {
		return refuse(RulePackLimit, "the pack promises %d objects (limit %d)", n, most)
	}
	return nil
}

// readIndex gives the object ids in a pack index of version 2, which is one that our own git has written.
func readIndex(path string, oidLen, most int) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	const start = 8 + 256*4
	if len(b) < start || !bytes.HasPrefix(b, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, fmt.Errorf("unknown pack index format: %s", git.Quote(path))
	}
	n, size := int(binary.BigEndian.Uint32(b[start-4:])), oidLen/2
	if n > most {
		return nil, refuse(RulePackLimit, "the pack holds %d objects (limit %d)", n, most)
	}
	if len(b) < start+n*size {
		return nil, fmt.Errorf("short pack index: %s", git.Quote(path))
	}
	// One string for all: an id is a slice of it.
	all := hex.EncodeToString(b[start : start+n*size])
	oids := make([]string, n)
	for i := range oids {
		oids[i] = all[i*oidLen : (i+1)*oidLen]
	}
	return oids, nil
}
