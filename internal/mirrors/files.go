package mirrors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxFile is far above any settings, and maxPage above what is needed of an index.
const (
	maxFile = 1 << 20
	maxPage = 4 << 20
)

// read reads a file that may be missing.
func (m Machine) read(dir, name string) (string, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) || dir == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return string(data), err
}

func fetch(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", page, res.Status)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPage))
	return string(data), err
}

// debian reads apt's sources, in both of their forms.
func debian(_ context.Context, m Machine) ([]string, error) {
	etc := filepath.Join(m.Root, "/etc/apt")
	names := []string{"sources.list"}
	for _, pattern := range []string{"*.list", "*.sources"} {
		more, err := filepath.Glob(filepath.Join(etc, "sources.list.d", pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range more {
			names = append(names, filepath.Join("sources.list.d", filepath.Base(file)))
		}
	}
	var hosts []string
	for _, name := range names {
		text, err := m.read(etc, name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch strings.ToLower(kind) {
			case "deb", "deb-src", "uris:":
				hosts = append(hosts, hostsOf(strings.Fields(rest)...)...)
			}
		}
	}
	return hosts, nil
}

// pip asks pip for its indexes, and each index for the hosts of its files.
func pip(ctx context.Context, m Machine) ([]string, error) {
	out, err := m.Run(ctx, "python3", "-m", "pip", "config", "list")
	if err != nil && installed(err) {
		return nil, err
	}
	var indexes []string
	main := m.Getenv("PIP_INDEX_URL")
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `'"`)
		switch {
		case strings.HasSuffix(name, ".extra-index-url"):
			indexes = append(indexes, strings.Fields(strings.ReplaceAll(value, `\n`, " "))...)
		case strings.HasSuffix(name, ".index-url") && main == "":
			main = value
		}
	}
	if main == "" { // what pip itself falls back on, which only pip knows
		out, err := m.Run(ctx, "python3", "-c", "from pip._internal.models.index import PyPI; print(PyPI.simple_url)")
		if err != nil && installed(err) {
			return nil, err
		}
		main = strings.TrimSpace(out)
	}
	if main != "" {
		indexes = append(indexes, main)
	}
	hosts := hostsOf(indexes...)
	for _, index := range indexes {
		page, err := m.Fetch(ctx, strings.TrimSuffix(index, "/")+"/pip/")
		if err != nil {
			return nil, err
		}
		for _, link := range link().FindAllStringSubmatch(page, -1) {
			if strings.Contains(link[1], "/pip-") {
				hosts = append(hosts, hostsOf(link[1])...)
			}
		}
	}
	return hosts, nil
}

func link() *regexp.Regexp { return regexp.MustCompile(`href="(https?://[^"#]+)`) }

// cargo follows the source of crates that the user's settings replace the usual one by. Where they don't, what cargo keeps
// of the index tells where it came from.
func cargo(_ context.Context, m Machine) ([]string, error) {
	home := m.Getenv("CARGO_HOME")
	if home == "" {
		home = filepath.Join(m.Home, ".cargo")
	}
	text, err := m.read(home, "config.toml")
	if err != nil {
		return nil, err
	}
	if text == "" {
		if text, err = m.read(home, "config"); err != nil {
			return nil, err
		}
	}
	var conf struct {
		Source map[string]struct {
			Registry string `toml:"registry"`
			Replace  string `toml:"replace-with"`
		} `toml:"source"`
		Registries map[string]struct {
			Index string `toml:"index"`
		} `toml:"registries"`
	}
	if _, err := toml.Decode(text, &conf); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(home, "config.toml"), err)
	}
	var hosts []string
	for _, r := range conf.Registries {
		hosts = append(hosts, hostsOf(r.Index)...)
	}
	name := "crates-io"
	for range 10 { // replacements of replacements, and no circles
		if conf.Source[name].Replace == "" {
			break
		}
		name = conf.Source[name].Replace
	}
	hosts = append(hosts, hostsOf(conf.Source[name].Registry)...)
	kept, err := keptIndexes(m, filepath.Join(home, "registry", "index"), name == "crates-io", hosts)
	return append(hosts, kept...), err
}

// keptIndexes are the hosts of indexes that cargo has fetched before, HOST-HASH each, and of the crates in them: those that
// are among hosts, or all.
func keptIndexes(m Machine, dir string, all bool, among []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var hosts []string
	for _, e := range entries {
		i := strings.LastIndexByte(e.Name(), '-')
		if i <= 0 {
			continue
		}
		host := hostsOf("https://" + e.Name()[:i])
		if len(host) == 0 || !all && !contains(among, host[0]) {
			continue
		}
		hosts = append(hosts, host...)
		text, err := m.read(filepath.Join(dir, e.Name()), "config.json")
		if err != nil {
			return nil, err
		}
		var conf struct {
			DL string `json:"dl"`
		}
		if json.Unmarshal([]byte(text), &conf) == nil {
			hosts = append(hosts, hostsOf(conf.DL)...)
		}
	}
	return hosts, nil
}

func contains(hosts []string, host string) bool {
	for _, h := range hosts {
		if name, _, _ := strings.Cut(h, ":"); name == host {
			return true
		}
	}
	return false
}
