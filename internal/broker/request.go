package broker

import (
	"context"
	"errors"
	"fmt"
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

// KeyRefusedError says that a provider does not accept a key.
type KeyRefusedError struct {
	Provider string
	Status   int
}

func (e *KeyRefusedError) Error() string {
	return fmt.Sprintf("%s does not accept the key: it answers %d", e.Provider, e.Status)
}

// Try asks a provider for its models, which costs nothing: that shows whether it can be reached and accepts the key.
// What else it answers than a list is given as its status.
func (u Upstream) Try(ctx context.Context) (status int, err error) {
	r, err := u.Request(ctx, http.MethodGet, "v1/models", nil)
	if err != nil {
		return 0, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return 0, errors.New(maskText(err.Error(), u.Key.mask()))
	}
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return resp.StatusCode, &KeyRefusedError{u.Provider.Name, resp.StatusCode}
	}
	return resp.StatusCode, nil
}
