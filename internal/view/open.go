package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/view/api"
)

// Code asks the server of a data directory for a code that lets a browser in.
func Code(ctx context.Context, data string) (Found, string, error) {
	f, token, err := Running(data)
	if err != nil {
		return f, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.Address+api.Prefix+"/codes", strings.NewReader("{}"))
	if err != nil {
		return f, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := plain().Do(req)
	if err != nil {
		return f, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return f, "", err
	}
	var c api.Code
	if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &c) != nil || c.Code == "" {
		return f, "", fmt.Errorf("%s gives no code: %d", f.Address, resp.StatusCode)
	}
	return f, c.Code, nil
}

// plain is a client that no proxy and no redirect leads elsewhere: the token must reach nobody else.
func plain() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// jump is a page that leads to an address, which is JSON: that escapes what could end a script.
const jump = `<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>cco</title>
<script>location.replace(%s)</script>
`

// Jump writes a file that leads a browser in. The code is in it alone: not in an argument that others could list, and
// behind a # that browsers send to nobody.
func Jump(ctx context.Context, data string) (Found, string, error) {
	f, code, err := Code(ctx, data)
	if err != nil {
		return f, "", err
	}
	address, err := json.Marshal(f.Address + "/#code=" + code)
	if err != nil {
		return f, "", err
	}
	at := placeOf(data)
	return f, at.file("open.html"), at.replace("open.html", fmt.Appendf(nil, jump, address))
}

// Open leads the user's browser in.
func Open(ctx context.Context, data string, env func(string) string) (Found, error) {
	f, file, err := Jump(ctx, data)
	if err != nil {
		return f, err
	}
	opener := env("BROWSER")
	switch {
	case opener != "" && !strings.ContainsAny(opener, " :%"):
	case runtime.GOOS == "darwin":
		opener = "open"
	default:
		opener = "xdg-open"
	}
	path, err := proc.LookPath(opener)
	if err != nil {
		return f, fmt.Errorf("no %s here: open %s in a browser within a minute, or type the code that `cco view code` "+
			"prints at %s", opener, file, f.Address)
	}
	_, err = proc.Detach(proc.Cmd{Argv: []string{opener, file}, Path: path})
	return f, err
}
