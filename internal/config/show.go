package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/vt"
)

func sizeText(n int64) any {
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

func durationText(d time.Duration) any {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func tokenText(n int64) any {
	switch {
	case n%1_000_000 == 0:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n%1000 == 0:
		return strconv.FormatInt(n/1000, 10) + "k"
	}
	return n
}

func commandText(c Command) any {
	switch {
	case c.Shell != "":
		return c.Shell
	case len(c.Argv) > 0:
		return c.Argv
	}
	return nil
}

func keyText(k vt.Key) any { return "ctrl-" + strings.ToLower(string(rune(k))) }

func texts[T ~string](list []T) any {
	all := make([]string, 0, len(list))
	for _, v := range list {
		all = append(all, string(v))
	}
	return all
}

func ruleTexts(rules []broker.Rule) any {
	var list []string
	for _, r := range rules {
		list = append(list, r.String())
	}
	return list
}

func textTable(texts map[string]string) any {
	table := map[string]any{}
	for name, s := range texts {
		table[name] = s
	}
	return table
}

// pairs shows KEY=value as a table.
func pairs(env []string) any {
	table := map[string]any{}
	for _, e := range env {
		name, v, _ := strings.Cut(e, "=")
		table[name] = v
	}
	return table
}

func mountTexts(mounts []Mount) any {
	var list []string
	for _, m := range mounts {
		path := m.Path
		if m.Write {
			path += ":rw"
		}
		list = append(list, path)
	}
	return list
}

func copiesTable(files []box.VMFile) any {
	table := map[string]any{}
	for _, f := range files {
		table[f.To] = f.From
	}
	return table
}

func agentTables(agents map[string]OwnAgent) any {
	all := map[string]any{}
	for name, a := range agents {
		all[name] = tableOf(a)
	}
	return all
}

// tomlText writes a value as it stands in a file.
func tomlText(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString(v)
	case []string:
		var parts []string
		for _, s := range v {
			parts = append(parts, tomlString(s))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, tomlText(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, tomlKey(name)+" = "+tomlText(v[name]))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

func tomlKey(name string) string {
	if name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == "" {
		return name
	}
	return tomlString(name)
}

func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString("\\" + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
