package sets

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// pip asks pip for its index. Only an index could say where it keeps its files, and it isn't asked.
func (s System) pip(ctx context.Context, set *Set) error {
	set.Caution = "an index that takes uploads takes them from anybody's account: what the agent can read can leave the " +
		"box that way"
	indexes, err := s.pipIndexes(ctx, set)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := set.add(index); err != nil {
			return err
		}
	}
	set.note("an index may keep its files on another host, which only a request would tell: `cco box net log` shows " +
		"what was refused")
	return nil
}

// pipIndexes are the configured indexes; if the main one isn't among them, it asks pip.
func (s System) pipIndexes(ctx context.Context, set *Set) (indexes []string, err error) {
	main := false
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"} {
		if v := s.Getenv(name); v != "" {
			set.from(name)
			indexes = append(indexes, strings.Fields(v)...)
			main = main || name == "PIP_INDEX_URL"
		}
	}
	pip, config, err := s.askPip(ctx, "config", "list")
	if errors.Is(err, proc.ErrNotFound) {
		if main {
			return indexes, nil
		}
		return nil, errors.New("pip is not installed, and PIP_INDEX_URL does not say where packages come from")
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(config) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		_, k, _ = strings.Cut(k, ".")
		v = strings.ReplaceAll(strings.Trim(v, `'"`), `\n`, " ")
		if k == "index-url" && !main || k == "extra-index-url" {
			set.from(pip + " config")
			indexes = append(indexes, strings.Fields(v)...)
			main = main || k == "index-url"
		}
	}
	if main {
		return indexes, nil
	}
	// Pip's help states its default.
	_, help, err := s.askPip(ctx, "install", "--help")
	if err != nil {
		return nil, err
	}
	m := regexp.MustCompile(`--index-url[^-]*?\(default\s+(\S+?)\)`).FindStringSubmatch(help)
	if m == nil {
		return nil, errors.New("pip does not say which index it uses: set PIP_INDEX_URL")
	}
	set.from(pip + " install --help")
	return append(indexes, m[1]), nil
}

func (s System) askPip(ctx context.Context, args ...string) (pip, out string, err error) {
	for _, argv := range [][]string{{"pip3"}, {"pip"}, {"python3", "-m", "pip"}} {
		out, err = s.Run(ctx, append(argv, args...)...)
		if err == nil {
			return strings.Join(argv, " "), out, nil
		}
		if !errors.Is(err, proc.ErrNotFound) && len(argv) == 1 {
			return "", "", fmt.Errorf("%s %s: %w", argv[0], args[0], err)
		}
	}
	return "", "", proc.ErrNotFound
}
