//go:build heavy && linux

package view_test

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/security"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// Guards against a page that only its own machine can use: a phone comes by https, through a proxy whose name the user
// has put into `[view] hosts`, and reads, decides, follows a stream and types into a terminal there.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	r := viewtest.New(t)
	var to url.URL
	proxy := httptest.NewTLSServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&to)
		p.Out.Host = p.In.Host // as tailscale serve does
	}})
	defer proxy.Close()
	defer proxy.CloseClientConnections() // streams never end by themselves
	_, port, _ := strings.Cut(strings.TrimPrefix(proxy.URL, "https://"), ":")
	host := "phone.localhost:" + port // browsers know where that leads
	r.Serve()
	to = *must.Get(url.Parse(r.Address))(t)
	b := newBrowser(t, r, narrow)
	b.do("trust the proxy", security.SetIgnoreCertificateErrors(true))
	own := r.Address
	r.Address = "https://" + host
	b.at("/") // nobody has named it yet
	b.sees("this is no name of ours")
	r.Kill()
	r.Address = own
	r.Run("cco", "config", "set", "view.hosts", host)
	r.Serve()
	r.Address = "https://" + host
	b.at("/")
	b.sees("Come in with the code")
	b.types("Code", strings.Fields(r.Run("cco", "view", "code"))[0]+"\r")
	b.sees("What is to be done?")
	if cookie := b.value("document.cookie"); cookie != "" {
		t.Errorf("a script of the page reads %q", cookie)
	}
	id := onTerminal(t, r, "Seen from a phone", painted)
	b.sees("Seen from a phone") // the stream says so
	b.at("/session/" + id + "/terminal")
	b.until("the screen", "document.querySelector('.xterm-rows')?.innerText.includes('READY')")
	b.press("Take the keyboard")
	b.sees("You have the keyboard")
	b.at("/session/" + id)
	b.press("Stop")
	b.press("Yes, end it")
	r.Await(id, "killed")
	r.Address = own
}
