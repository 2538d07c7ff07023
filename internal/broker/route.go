package broker

import (
	"errors"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// route is the way to one model.
type route struct {
	up        Upstream
	base      *url.URL
	transport *http.Transport
}

func (d *Door) newRoute(u Upstream) (*route, error) {
	base := u.Base
	if base == nil {
		var err error
		if base, err = url.Parse(u.Provider.Base); err != nil {
			return nil, err
		}
	}
	if base.Scheme != "https" && base.Scheme != "http" || base.Host == "" {
		return nil, errors.New("the base URL is no http or https URL")
	}
	t := &http.Transport{
		Proxy: d.cfg.Proxy, DialContext: d.cfg.Dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSHandshakeTimeout: d.cfg.Timeouts.Dial, ResponseHeaderTimeout: d.cfg.Timeouts.Response,
	}
	return &route{up: u, base: base, transport: t}, nil
}

// model serves the routes to models.
func (d *Door) model(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	rt := d.routes[name]
	if rt == nil || !d.ours(r.Header.Get("X-Api-Key")) && !d.ours(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) &&
		!d.ours(r.Header.Get("X-Goog-Api-Key")) && !d.ours(r.URL.Query().Get("key")) {
		http.Error(w, "cco: no", http.StatusForbidden)
		return
	}
	p := httputil.ReverseProxy{
		FlushInterval: -1, Transport: rt.transport,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL = rt.base.JoinPath(rest)
			pr.Out.Host = ""
			for _, h := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key", "Cookie", "Accept-Encoding"} {
				pr.Out.Header.Del(h)
			}
			rt.up.Provider.sign(pr.Out.Header, rt.up.Key)
		},
	}
	p.ServeHTTP(w, r)
}
