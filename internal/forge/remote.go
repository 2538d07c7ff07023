package forge

import (
	"net"
	"net/url"
	"regexp"
	"strings"
)

// Remote is a repository on a forge, as a git remote names it.
type Remote struct {
	Scheme string // of its pages and API: "https", or "http" where the remote itself has it
	Host   string // with a port only if that is the port of the pages
	Prefix string // the path below which the forge lives, "" for its root
	Owner  string
	Name   string
}

// String is host/owner/name.
func (r Remote) String() string { return r.Host + r.Prefix + "/" + r.Owner + "/" + r.Name }

// Base is where the forge's pages are, without a slash at the end.
func (r Remote) Base() string { return r.Scheme + "://" + r.Host + r.Prefix }

// Plain says whether a token would travel unprotected: over http to another machine.
func (r Remote) Plain() bool {
	if r.Scheme != "http" {
		return false
	}
	name := r.Host
	if h, _, err := net.SplitHostPort(r.Host); err == nil {
		name = h
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name != "localhost" && (ip == nil || !ip.IsLoopback())
}

// ParseRemote reads the URL of a git remote, after insteadOf has been applied. Its errors never show a password.
func ParseRemote(raw string) (Remote, error) {
	raw = strings.TrimSpace(raw)
	if !strings.Contains(raw, "://") {
		return parseSCP(raw)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Remote{}, &RemoteError{Remote: "(not shown)", Why: "not a URL"}
	}
	shown := u.Redacted()
	if u.User != nil {
		u.User, shown = nil, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	r := Remote{Scheme: "https", Host: strings.ToLower(u.Host)}
	switch u.Scheme {
	case "https", "http":
		r.Scheme = u.Scheme
		if port := map[string]string{"https": ":443", "http": ":80"}[u.Scheme]; strings.HasSuffix(r.Host, port) {
			r.Host = strings.TrimSuffix(r.Host, port)
		}
	case "ssh", "git+ssh", "ssh+git", "git":
		r.Host = strings.ToLower(u.Hostname()) // that port is not the port of the pages
	default:
		return Remote{}, &RemoteError{Remote: shown, Why: "it is not on a forge"}
	}
	return r.withPath(u.Path, shown)
}

// parseSCP reads git@host:owner/name.
func parseSCP(raw string) (Remote, error) {
	before, path, ok := strings.Cut(raw, ":")
	if !ok || strings.Contains(before, "/") {
		return Remote{}, &RemoteError{Remote: raw, Why: "it is a path on this machine"}
	}
	host := before[strings.LastIndexByte(before, '@')+1:]
	return Remote{Scheme: "https", Host: strings.ToLower(host)}.withPath(path, host+":"+path)
}

// named is what forges allow in owners and repositories.
const named = `^[A-Za-z0-9_.-]{1,100}$`

func (r Remote) withPath(path, shown string) (Remote, error) {
	if r.Host == "ssh.github.com" {
		r.Host = "github.com" // ssh.github.com serves ssh on port 443
	}
	if strings.Trim(r.Host, "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" || r.Host == "" {
		return Remote{}, &RemoteError{Remote: shown, Why: "it has no host"}
	}
	parts := strings.Split(strings.Trim(strings.TrimSuffix(strings.TrimSuffix(path, "/"), ".git"), "/"), "/")
	if len(parts) < 2 {
		return Remote{}, &RemoteError{Remote: shown, Why: "it does not name an owner and a repository"}
	}
	for _, p := range parts {
		if !regexp.MustCompile(named).MatchString(p) || p == "." || p == ".." {
			return Remote{}, &RemoteError{Remote: shown, Why: "it does not name an owner and a repository"}
		}
	}
	n := len(parts)
	r.Owner, r.Name, r.Prefix = parts[n-2], parts[n-1], ""
	if n > 2 {
		r.Prefix = "/" + strings.Join(parts[:n-2], "/")
	}
	return r, nil
}
