package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// pip asks pip for its index, and the index for the hosts of its files.
func (s System) pip(ctx context.Context, set *Set) error {
	set.Caution = "an index that takes uploads takes them from anybody's account: what the agent can read can leave the box that way"
	indexes, err := s.pipIndexes(ctx, set)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := set.add(index); err != nil {
			return err
		}
		if err := s.pipFiles(ctx, set, index); err != nil {
			set.Notes = append(set.Notes, "an index did not say where its files are: "+err.Error())
		}
	}
	return nil
}

// pipIndexes are the indexes that are configured; if none is the main one, pip is asked for its own.
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
	// What pip does by itself it tells in its help.
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

// pipFiles adds the hosts of an index's files, as its page of one package links to them.
func (s System) pipFiles(ctx context.Context, set *Set, index string) error {
	page, err := url.Parse(strings.TrimSuffix(index, "/") + "/pip/")
	if err != nil {
		return errors.New("its URL can't be read")
	}
	text, err := s.Fetch(ctx, page.String())
	if err != nil {
		return errors.New("it gives no page of pip") // the error may have the URL's password in it
	}
	var links []string
	var simple struct {
		Files []struct {
			URL string `json:"url"`
		} `json:"files"`
	}
	if json.Unmarshal(text, &simple) == nil {
		for _, f := range simple.Files {
			links = append(links, f.URL)
		}
	} else {
		for _, m := range regexp.MustCompile(`href="([^"#]+)`).FindAllSubmatch(text, -1) {
			links = append(links, string(m[1]))
		}
	}
	for _, l := range links {
		to, err := page.Parse(l)
		if err != nil {
			continue
		}
		if err := set.add(to.String()); err != nil {
			return err
		}
	}
	return nil
}
