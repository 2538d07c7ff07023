package sets

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/BurntSushi/toml"
)

type cargoConfig struct {
	Source map[string]struct {
		ReplaceWith string `toml:"replace-with"`
		Registry    string `toml:"registry"`
	} `toml:"source"`
	Registries map[string]struct {
		Index string `toml:"index"`
	} `toml:"registries"`
}

// cargo reads its configuration. Cargo does not say its default, and only an index could say where its packages are:
// both are left out, because agents write its caches, and no host is asked.
func (s System) cargo(_ context.Context, set *Set) error {
	set.Caution = "a registry that takes `cargo publish` takes it from anybody's account: what the agent can read can " +
		"leave the box that way"
	home := s.Getenv("CARGO_HOME")
	if home == "" {
		home = filepath.Join(s.Home, ".cargo")
	}
	indexes, err := s.cargoConfigured(home, set)
	if err != nil {
		return err
	}
	if len(indexes) == 0 {
		return errors.New("cargo's own settings (" + filepath.Join(home, "config.toml") +
			") name no registry, and cargo does not say which it takes then: " +
			"allow its hosts by name with `cco box net allow HOST`")
	}
	slices.Sort(indexes)
	for _, index := range indexes {
		if err := set.add(index); err != nil {
			return err
		}
	}
	set.note("an index may keep its packages on another host, which only a request would tell: `cco box net log` shows " +
		"what was refused")
	return nil
}

// cargoConfigured are the indexes in the configuration: registries by name, and what replaces a source.
func (s System) cargoConfigured(home string, set *Set) (indexes []string, err error) {
	for _, name := range []string{"config.toml", "config"} {
		file := filepath.Join(home, name)
		text, err := s.read(file)
		if err != nil {
			return nil, err
		}
		var c cargoConfig
		if _, err := toml.Decode(text, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, r := range c.Registries {
			indexes = append(indexes, r.Index)
		}
		for _, src := range c.Source {
			if src.Registry != "" {
				indexes = append(indexes, src.Registry)
			}
		}
		if len(indexes) > 0 {
			set.from(file)
			return indexes, nil
		}
	}
	if v := s.Getenv("CARGO_REGISTRIES_CRATES_IO_INDEX"); v != "" {
		set.from("CARGO_REGISTRIES_CRATES_IO_INDEX")
		indexes = append(indexes, v)
	}
	return indexes, nil
}
