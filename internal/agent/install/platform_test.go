package install

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// other is a platform of boxes that isn't this machine's.
func other() Platform {
	if runtime.GOOS == "linux" && runtime.GOARCH == "arm64" {
		return Platform{"linux", "amd64"}
	}
	return Platform{"linux", "arm64"}
}

// head is the beginning of a program, which is as much as is looked at.
func head(t *testing.T, p Platform) string {
	t.Helper()
	data := make([]byte, 64)
	if p.OS == "darwin" {
		binary.LittleEndian.PutUint32(data, 0xfeedfacf)
		binary.LittleEndian.PutUint32(data[4:], map[string]uint32{"amd64": 0x01000007, "arm64": 0x0100000c}[p.Arch])
	} else {
		copy(data, "\x7fELF\x02\x01\x01")
		for at, v := range map[int]uint16{16: 2, 18: map[string]uint16{"amd64": 62, "arm64": 183}[p.Arch], 20: 1,
			52: 64, 58: 64} {
			binary.LittleEndian.PutUint16(data[at:], v)
		}
	}
	file := filepath.Join(t.TempDir(), "program")
	write(t, file, string(data), 0o755)
	return file
}

func TestInstallForAnotherPlatform(t *testing.T) {
	data, bin, log := stage(t)
	at := other()
	t.Setenv("NPM_ELF", head(t, at))
	for _, name := range []string{"claude", "gemini"} {
		a := adapter(t, name)
		p := must.Get(Install(t.Context(), data, a, "", at, nil))(t)
		if p.Dir != filepath.Join(data, "agents", name, "linux-"+at.Arch, p.Version) || !strings.HasPrefix(p.Path, p.Dir) {
			t.Errorf("program %+v", p)
		}
		if found, ok := Installed(data, a, at); !ok || found != p {
			t.Errorf("found %+v, %v", found, ok)
		}
		// Find never gives a program for another platform.
		if found, err := Find(t.Context(), data, a); err == nil {
			t.Errorf("found %+v for this machine", found)
		}
		write(t, filepath.Join(bin, a.Binary()), "#!/bin/sh\necho 99.0.0\n", 0o755)
		own, err := Install(t.Context(), data, a, "", Host(), nil)
		if err != nil || own.Dir == p.Dir {
			t.Errorf("%+v, %v", own, err)
		}
		if found, ok := Installed(data, a, at); !ok || found != p {
			t.Errorf("found %+v, %v", found, ok)
		}
	}
	text := must.Get(os.ReadFile(log))(t)
	for _, want := range []string{"--os=linux", "--cpu=" + at.cpu(), "--libc=glibc",
		`"optionalDependencies":{"node-linux-` + at.cpu()} {
		if !strings.Contains(string(text), want) {
			t.Errorf("npm was asked %q, without %s", text, want)
		}
	}
}

// Guards against an npm that doesn't know of other platforms, and gives what is its own.
func TestProgramsOfTheWrongPlatformAreRefused(t *testing.T) {
	data, _, _ := stage(t)
	for name, file := range map[string]string{
		"another processor": head(t, Host()), "another system": head(t, Platform{"darwin", other().Arch}),
		"no program": os.DevNull,
	} {
		t.Setenv("NPM_ELF", file)
		for _, agent := range []string{"claude", "gemini"} {
			a := adapter(t, agent)
			if _, err := Install(t.Context(), data, a, "", other(), nil); err == nil ||
				!strings.Contains(err.Error(), "runs on linux/"+other().Arch) {
				t.Errorf("%s, %s: %v", agent, name, err)
			}
			if _, ok := Installed(data, a, other()); ok {
				t.Errorf("%s, %s: it is there all the same", agent, name)
			}
		}
	}
}

// Guards against an optional package that npm leaves out without a word.
func TestMissingNodeIsNamed(t *testing.T) {
	data, _, _ := stage(t)
	t.Setenv("NPM_NODELESS", "1")
	_, err := Install(t.Context(), data, adapter(t, "gemini"), "", Host(), nil)
	if err == nil || !strings.Contains(err.Error(), Host().node()+"@"+nodeVersion) {
		t.Errorf("err = %v", err)
	}
}

func TestPlatforms(t *testing.T) {
	for _, text := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		p, err := ParsePlatform(text)
		if err != nil || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
		for _, is := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
			of, _ := ParsePlatform(is)
			if p.built(head(t, of)) != (text == is) {
				t.Errorf("%s is wrong about a program for %s", text, is)
			}
		}
	}
	for _, text := range []string{"", "linux", "linux/", "/arm64", "linux/x64", "windows/amd64", "linux/arm64/v8",
		"../arm64", "Linux/arm64"} {
		_, err := ParsePlatform(text)
		if _, ok := errors.AsType[*UnknownPlatformError](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	data, _, _ := stage(t)
	_, err := Install(t.Context(), data, adapter(t, "claude"), "", Platform{"plan9", "amd64"}, nil)
	if _, ok := errors.AsType[*UnknownPlatformError](err); !ok {
		t.Errorf("plan9: %v", err)
	}
}
