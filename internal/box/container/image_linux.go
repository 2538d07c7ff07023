package container

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// image is the image of a box.
type image struct {
	ID  string   `json:"image"`
	Env []string `json:"env,omitempty"` // as the image sets it
}

// findImage returns the image that a box wants. It makes the image if it has to.
func (e *engine) findImage(ctx context.Context, c box.Container, report box.Report) (image, error) {
	switch {
	case c.Image != "" && c.ImageTar != "":
		return image{}, errors.New("name an image or a tar, not both")
	case c.ImageTar != "":
		return e.fromTar(ctx, c.ImageTar, report)
	case c.Image != "":
		return e.named(ctx, c.Image, report)
	default:
		return e.own(ctx, report)
	}
}

// inspect looks up an image of the engine.
func (e *engine) inspect(ctx context.Context, ref string) (image, error) {
	out, err := e.output(ctx, "image", "inspect", ref)
	if err != nil {
		return image{}, err
	}
	var found []struct {
		ID     string `json:"Id"`
		Config struct{ Env []string }
	}
	if err := json.Unmarshal(out, &found); err != nil || len(found) != 1 || found[0].ID == "" {
		return image{}, fmt.Errorf("inspect image %s: %w", ref, errors.Join(err, errors.New("it has no id")))
	}
	return image{ID: found[0].ID, Env: found[0].Config.Env}, nil
}

// has says whether the engine has an image; its error says why the engine could not be asked.
func (e *engine) has(ctx context.Context, ref string) (image, bool, error) {
	img, err := e.inspect(ctx, ref)
	if _, exit := errors.AsType[*proc.ExitError](err); exit {
		return img, false, nil
	}
	return img, err == nil, err
}

func (e *engine) named(ctx context.Context, ref string, report box.Report) (image, error) {
	if strings.HasPrefix(ref, "-") {
		return image{}, fmt.Errorf("%q can't name an image", ref)
	}
	img, ok, err := e.has(ctx, ref)
	if err != nil || ok {
		return img, err
	}
	report("pulling %s", ref)
	said := e.listen(report)
	c := e.command("pull", ref)
	c.Stdout, c.Stderr = said, said
	if err := proc.Run(ctx, c); err != nil {
		if ctx.Err() != nil {
			return image{}, ctx.Err()
		}
		return image{}, &box.Unavailable{
			What: "image " + ref, Why: e.Name + " has none of that name and can't get it: " + said.cause(),
			Mend: e.Name + " pull " + ref + ", where the registry can be reached, or make the box with another --image NAME, " +
				"or with --image-tar FILE",
		}
	}
	return e.inspect(ctx, ref)
}

// fromTar loads an image from a file: one that an engine saved, or the files of a root. It loads each content once.
func (e *engine) fromTar(ctx context.Context, file string, report box.Report) (image, error) {
	sum, saved, err := readTar(file)
	if err != nil {
		return image{}, fmt.Errorf("image from %s: %w", file, err)
	}
	ref := "localhost/cco-tar:" + sum[:16]
	img, ok, err := e.has(ctx, ref)
	if err != nil || ok {
		return img, err
	}
	report("taking the image from %s", file)
	if !saved {
		if _, err := e.long(ctx, "import", file, ref); err != nil {
			return image{}, fmt.Errorf("image from %s: %w", file, err)
		}
		return e.inspect(ctx, ref)
	}
	out, err := e.long(ctx, "load", "--quiet", "--input", file)
	if err != nil {
		return image{}, fmt.Errorf("image from %s: %w", file, err)
	}
	// "Loaded image: name", "Loaded image ID: sha256:…", "Loaded image(s): a,b"
	_, name, ok := strings.Cut(strings.TrimSpace(string(out)), ": ")
	name, _, _ = strings.Cut(name, ",")
	name, _, _ = strings.Cut(name, "\n")
	if !ok || name == "" {
		return image{}, fmt.Errorf("image from %s: %s said %q", file, e.Name, out)
	}
	if _, err := e.output(ctx, "tag", strings.TrimSpace(name), ref); err != nil {
		return image{}, fmt.Errorf("image from %s: %w", file, err)
	}
	return e.inspect(ctx, ref)
}

// readTar returns the checksum of a file, and whether it is a saved image or the files of a root.
func readTar(file string) (sum string, saved bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", false, errors.Join(err, errors.New("not a file"))
	}
	hash := sha256.New()
	in := bufio.NewReaderSize(io.TeeReader(f, hash), 1<<20)
	if saved, err = looksSaved(in); err != nil {
		return "", false, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return "", false, err
	}
	return hex.EncodeToString(hash.Sum(nil)), saved, nil
}

// looksSaved reads the names in a tar until one shows what it is.
func looksSaved(in *bufio.Reader) (bool, error) {
	var from io.Reader = in
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return false, err
		}
		from = unzipped
	}
	for entries := tar.NewReader(from); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return false, errors.New("it holds neither an image nor a root")
		}
		if err != nil {
			return false, fmt.Errorf("neither a plain tar nor one compressed with gzip: %w", err)
		}
		switch name := path.Clean(h.Name); {
		case name == "manifest.json", name == "oci-layout", name == "index.json":
			return true, nil
		case name == "bin", name == "etc", name == "usr", strings.HasPrefix(name, "bin/"), strings.HasPrefix(name, "etc/"),
			strings.HasPrefix(name, "usr/"):
			return false, nil
		}
	}
}
