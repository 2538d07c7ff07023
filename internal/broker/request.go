package broker

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Request makes a request to the model from the host itself, with the key in place. Path is one that a door would let
// through, without the provider's name. The sender must not follow redirects.
func (u Upstream) Request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	c, err := u.Provider.find(method, path)
	if err != nil {
		return nil, err
	}
	base := u.Base
	if base == nil {
		if base, err = url.Parse(u.Provider.Base); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.at(base, nil).String(), body)
	if err != nil {
		return nil, err
	}
	if u.Provider.wire == wireAnthropic {
		r.Header.Set("Anthropic-Version", "2023-06-01")
	}
	r.Header.Set("Content-Type", "application/json")
	u.Provider.sign(r.Header, u.Key)
	return r, nil
}
