package sets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// cargo reads its configuration, and the indexes that it has used before: it tells its default nowhere else. An index says
// itself where its packages are.
func (s System) cargo(ctx context.Context, set *Set) error {
	set.Caution = "a registry that takes `cargo publish` takes it from anybody's account: what the agent can read can leave the box that way"
	home := s.Getenv("CARGO_HOME")
	if home == "" {
		home = filepath.Join(s.Home, ".cargo")
	}
	indexes, err := s.cargoConfigured(home, set)
	if err != nil {
		return err
	}
	if len(indexes) == 0 {
		// Directories are named HOST-HASH after the indexes that they are copies of.
		dirs, err := os.ReadDir(filepath.Join(home, "registry", "index"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, d := range dirs {
			if i := strings.LastIndex(d.Name(), "-"); i > 0 {
				set.from(filepath.Join(home, "registry", "index"))
				indexes = append(indexes, "https://"+d.Name()[:i]+"/")
			}
		}
	}
	if len(indexes) == 0 {
		return errors.New("neither " + filepath.Join(home, "config.toml") + " nor an index that cargo has used before says where packages come from")
	}
	for _, index := range indexes {
		if err := set.add(index); err != nil {
			return err
		}
		if err := s.cargoFiles(ctx, set, index); err != nil {
			set.Notes = append(set.Notes, "an index did not say where its packages are: "+err.Error())
		}
	}
	return nil
}

// cargoConfigured are the indexes in the configuration: registries by name, and what replaces a source.
func (s System) cargoConfigured(home string, set *Set) (indexes []string, err error) {
	for _, name := range []string{"config.toml", "config"} {
		file := filepath.Join(home, name)
		text, err := read(file)
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

// cargoFiles adds the host of an index's packages, which its config.json names. Its host for publishing is left out.
func (s System) cargoFiles(ctx context.Context, set *Set, index string) error {
	index = strings.TrimPrefix(index, "sparse+")
	if !strings.HasPrefix(index, "http") {
		return nil
	}
	text, err := s.Fetch(ctx, strings.TrimSuffix(index, "/")+"/config.json")
	if err != nil {
		return errors.New("it gives no config.json")
	}
	var c struct {
		DL string `json:"dl"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return errors.New("its config.json can't be read")
	}
	dl, _, _ := strings.Cut(c.DL, "{")
	return set.add(dl)
}
