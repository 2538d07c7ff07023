// Package provision holds what is put into a box's home: the words and settings by which an agent knows where it is.
package provision

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"

	"github.com/cco-dev/cco/internal/box"
)

// Stamp is the file below home that holds the Version of what was provisioned.
const Stamp = ".cco/provision"

//go:embed files
var files embed.FS

// Files is everything that goes into the home of a box, the stamp last: where it stands, all else does.
func Files() []box.File {
	list := contents()
	return append(list, box.File{Path: Stamp, Data: []byte(version(list) + "\n"), Mode: 0o644})
}

// Version changes whenever one of the files does. A box whose stamp says something else has been provisioned by another cco.
func Version() string { return version(contents()) }

func version(list []box.File) string {
	h := sha256.New()
	for _, f := range list {
		_, _ = fmt.Fprintf(h, "%s\n%o\n%d\n%s", f.Path, f.Mode, len(f.Data), f.Data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func contents() []box.File {
	var list []box.File
	err := fs.WalkDir(files, "files", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		list = append(list, box.File{Path: path.Join(".claude", name[len("files/"):]), Data: data, Mode: 0o644})
		return nil
	})
	if err != nil {
		panic("provision: read embedded files: " + err.Error()) // they are part of this program
	}
	return list
}
