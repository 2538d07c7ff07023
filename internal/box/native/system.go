//go:build linux

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/paths"
)

// etcNames are the parts of /etc that programs need to find their libraries, certificates and defaults. None of them
// holds a secret: files that might, such as a gitconfig, npmrc or pip.conf, are left out.
func etcNames() []string {
	return []string{
		"alternatives", "bash.bashrc", "fonts", "inputrc", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime",
		"lsb-release",
		"mime.types", "os-release", "pki/ca-trust", "pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf",
		"protocols", "python3", "services", "ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo",
	}
}

// system adds what every box shows: the system's directories, devices, and an /etc without the host's users.
func system(p *jail.Plan) {
	for _, dir := range host.SystemDirs() {
		show(p, dir)
	}
	for _, name := range etcNames() {
		show(p, filepath.Join("/etc", name))
	}
	if javas, err := filepath.Glob("/etc/java-*"); err == nil {
		for _, dir := range javas {
			show(p, dir)
		}
	}
	host.Devices(p)
	p.Links = append(p.Links,
		jail.Link{Path: "/etc/mtab", Target: "/proc/self/mounts"},
		jail.Link{Path: "/var/tmp", Target: "../tmp"},
		jail.Link{Path: "/var/run", Target: "../run"},
	)
	p.Files = append(p.Files,
		text("/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n%s:x:%d:%d:agent:%s:/bin/sh\n"+
			"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
			jail.User, jail.UID, jail.GID, jail.Home),
		text("/etc/group", "root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", jail.User, jail.GID),
		text("/etc/hosts", "127.0.0.1 localhost %[1]s\n::1 localhost ip6-localhost %[1]s\n", p.Hostname),
		text("/etc/hostname", "%s\n", p.Hostname),
		text("/etc/resolv.conf", "# this box has no name server\n"),
		text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n"),
	)
}

func text(name, format string, args ...any) jail.File {
	return jail.File{Path: name, Data: fmt.Appendf(nil, format, args...), Mode: 0o444}
}

// show adds one file, directory or link of the host, if it exists.
func show(p *jail.Plan, name string) {
	st, err := os.Lstat(name)
	if err != nil {
		return
	}
	switch {
	case st.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return
		}
		p.Links = append(p.Links, jail.Link{Path: name, Target: target})
		// A link to a place that isn't visible, such as a generated file below /run or /var, brings its file along.
		real, err := filepath.EvalSymlinks(name)
		if err == nil && !paths.Within(real, "/usr") && !paths.Within(real, "/etc") && !strings.HasPrefix(real, "/lib") &&
			!paths.Within(real, "/proc") {
			show(p, real)
		}
	case st.IsDir(), st.Mode().IsRegular():
		p.Mounts = append(p.Mounts, jail.Mount{Source: name, Target: name, File: !st.IsDir(), Host: true})
	}
}
