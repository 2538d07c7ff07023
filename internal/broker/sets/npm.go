package sets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// npm asks npm itself for its registry; scopes have registries of their own in the user's file.
func (s System) npm(ctx context.Context, set *Set) error {
	set.Caution = "a registry that takes `npm publish` takes it from anybody's account: what the agent can read can " +
		"leave the box that way"
	file := s.Getenv("NPM_CONFIG_USERCONFIG")
	if file == "" {
		file = filepath.Join(s.Home, ".npmrc")
	}
	text, err := s.read(file)
	if err != nil {
		return err
	}
	plain := ""
	for line := range strings.Lines(text) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), "=")
		k, v = strings.TrimSpace(k), strings.Trim(strings.TrimSpace(v), `"'`)
		switch {
		case !ok || strings.HasPrefix(k, ";") || strings.HasPrefix(k, "#"):
		case k == "registry":
			plain = v
		case strings.HasPrefix(k, "@") && strings.HasSuffix(k, ":registry"):
			set.from(file)
			if err := set.add(s.expand(v)); err != nil {
				return err
			}
		}
	}
	if v, name := s.first("npm_config_registry", "NPM_CONFIG_REGISTRY"); v != "" {
		set.from(name)
		return set.add(v)
	}
	out, err := s.Run(ctx, "npm", "config", "get", "registry")
	switch {
	case err == nil:
		set.from("npm config get registry")
		return set.add(out)
	case !errors.Is(err, proc.ErrNotFound):
		return fmt.Errorf("npm config get registry: %w", err)
	case plain != "":
		set.from(file)
		return set.add(s.expand(plain))
	}
	return errors.New("npm is not installed, and neither npm_config_registry nor " + file +
		" says where packages come from")
}

// expand replaces ${NAME} as npm does.
func (s System) expand(v string) string {
	for {
		before, rest, ok := strings.Cut(v, "${")
		if !ok {
			return v
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return v
		}
		v = before + s.Getenv(strings.TrimSuffix(name, "?")) + after
	}
}
