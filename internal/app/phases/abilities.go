package phases

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/session"
)

// offerer says what this machine has, as it changes.
type offerer struct {
	phases *Phases
	svc    *session.Service
	cfg    config.Config

	logins map[string]known // by host
}

// known is whose a token is. It is asked again after a while, because names change.
type known struct {
	token [sha256.Size]byte
	login string
	until time.Time
}

// loginsFor is how long the name of a token's account is believed.
const loginsFor = time.Hour

// abilities are this machine's logins on the forges of phases that live, each without a label and with each of its own.
func (o *offerer) abilities(ctx context.Context) (all []fleet.Ability, err error) {
	list, err := o.svc.Store.Living(ctx)
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, p := range list {
		if len(hosts) > 100 {
			break
		}
		remote, err := forge.ParseRemote(p.Repo)
		if p.Far() && err == nil && !slices.Contains(hosts, remote.Host) {
			hosts = append(hosts, remote.Host)
		}
	}
	for _, host := range hosts {
		login, err := o.login(ctx, host)
		if err != nil || login == "" {
			continue // a forge that is down now; others must go on
		}
		for _, label := range append([]string{""}, o.cfg.Worker.Labels...) {
			all = append(all, ability(host, login, label))
		}
	}
	return all, nil
}

// login is the user's name on a forge, "" without a token for it.
func (o *offerer) login(ctx context.Context, host string) (string, error) {
	remote := forge.Remote{Scheme: "https", Host: host, Owner: "cco", Name: "cco"}
	if name, _, err := net.SplitHostPort(host); err == nil && (name == "localhost" || net.ParseIP(name).IsLoopback()) {
		remote.Scheme = "http"
	}
	for _, c := range clients() {
		if kind, known := forge.KindOf(host); known && kind != c.Kind {
			continue
		}
		t, err := o.phases.tokens(ctx, c.find, host)
		if app := c.Kind == forge.GitHub && o.phases.Env("CCO_GITHUB_APP_ID") != ""; err != nil && !app {
			continue
		}
		token := sha256.Sum256([]byte(t.author.Reveal()))
		if k := o.logins[host]; k.token == token && time.Now().Before(k.until) {
			return k.login, nil
		}
		f, err := c.open(o.phases, ctx, o.svc.Store, c.Place(remote))
		if _, none := errors.AsType[*forge.NoTokenError](err); none {
			continue
		}
		if err != nil {
			return "", err
		}
		us, err := f.Us(ctx)
		if err != nil {
			_, refused := errors.AsType[*forge.TokenError](err)
			if k := o.logins[host]; k.token == token && !refused {
				return k.login, nil // the forge is down
			}
			return "", err
		}
		if o.logins == nil {
			o.logins = map[string]known{}
		}
		o.logins[host] = known{token: token, login: us[0], until: time.Now().Add(loginsFor)}
		return us[0], nil
	}
	return "", nil
}
