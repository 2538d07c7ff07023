package githubfake

import (
	"context"
	"net/http"
	"net/http/cgi" // git's own backend is a CGI program
	"strings"
)

// serveGit is git over http, by git's own backend.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if len(parts) < 3 {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	who, ok := s.who(r)
	rp := s.repos[parts[0]+"/"+strings.TrimSuffix(parts[1], ".git")]
	s.mu.Unlock()
	write := strings.HasSuffix(r.URL.Path, "/git-receive-pack") || r.URL.Query().Get("service") == "git-receive-pack"
	switch {
	case rp == nil:
		http.NotFound(w, r)
		return
	case !ok:
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Authentication failed", http.StatusUnauthorized)
		return
	case write && (who.readOnly || !rp.canWrite(who.login)):
		http.Error(w, "Permission denied", http.StatusForbidden)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
		before := rp.heads(r.Context())
		defer s.recordPush(context.WithoutCancel(r.Context()), rp, who.login, before)
	}
	r.Header.Del("Authorization")
	r.URL.Path = "/" + strings.TrimSuffix(parts[1], ".git") + ".git/" + parts[2]
	(&cgi.Handler{
		Path: s.backend, Dir: rp.dir,
		Env: append(gitEnv(), "GIT_PROJECT_ROOT="+strings.TrimSuffix(rp.dir, "/"+rp.name+".git"), "GIT_HTTP_EXPORT_ALL=1",
			"REMOTE_USER="+who.login),
	}).ServeHTTP(w, r)
}
