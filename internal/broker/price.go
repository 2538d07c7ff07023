package broker

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Price is what a family of models costs, in US dollars for a million tokens.
type Price struct {
	Prefix       string  `toml:"prefix"` // of the model's name; the longest that fits counts, "" fits all
	Input        float64 `toml:"input"`
	Output       float64 `toml:"output"`
	CacheRead    float64 `toml:"cache_read"`
	CacheWrite   float64 `toml:"cache_write"`      // for five minutes, where there is a choice
	CacheWrite1h float64 `toml:"cache_write_hour"` // for an hour
	LongOver     int64   `toml:"long_over"`        // a prompt of more tokens than this costs what follows
	LongInput    float64 `toml:"long_input"`
	LongOutput   float64 `toml:"long_output"`
	list         bool    // one of ours: it fits that model alone, not what else its name may begin
}

// Prices is a table of prices, in no order.
type Prices []Price

//go:embed prices.toml
var priceTable string

// DefaultPrices are the list prices of well-known families, as of the date in prices.toml.
func DefaultPrices() (Prices, error) {
	ps, err := ParsePrices(priceTable)
	for i := range ps {
		ps[i].list = true
	}
	return ps, err
}

// ParsePrices reads a table of [[price]] entries.
func ParsePrices(text string) (Prices, error) {
	var file struct {
		AsOf  string  `toml:"as_of"`
		Price []Price `toml:"price"`
	}
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return nil, fmt.Errorf("prices: %s is not known", odd[0])
	}
	return file.Price, Prices(file.Price).check()
}

func (ps Prices) check() error {
	for _, p := range ps {
		for _, v := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWrite1h, p.LongInput, p.LongOutput} {
			if !(v >= 0 && v < 1e6) { // also refuses what is no number
				return errors.New("prices: the price of " + p.Prefix + " is not a price")
			}
		}
	}
	return nil
}

// find gives the price of a model.
func (ps Prices) find(model string) (Price, bool) {
	best, found := Price{}, false
	for _, p := range ps {
		rest, fits := strings.CutPrefix(model, p.Prefix)
		if fits && (!p.list || same(p.Prefix, rest)) && (!found || len(p.Prefix) > len(best.Prefix)) {
			best, found = p, true
		}
	}
	return best, found
}

// same says whether what follows a prefix makes no other model of it, with a price of its own: a version, a date, or a word
// that has never cost anything. gpt-5.9, o3-pro and gemini-3-pro-image are others than gpt-5, o3 and gemini-3-pro.
func same(prefix, rest string) bool {
	const between = "-@:"
	if rest != "" && !strings.ContainsAny(prefix[len(prefix)-1:]+rest[:1], between) {
		return false
	}
	for word := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune(between, r) }) {
		if strings.Trim(word, "0123456789") != "" && !slices.Contains([]string{"latest", "preview", "exp", "codex", "max", "chat"}, word) {
			return false
		}
	}
	return true
}

// dearest is the price that no other of the table exceeds, kind by kind: for models that are not in it.
func (ps Prices) dearest() (d Price) {
	for _, p := range ps {
		d.Input = max(d.Input, p.Input, p.LongInput)
		d.Output = max(d.Output, p.Output, p.LongOutput)
		d.CacheRead = max(d.CacheRead, p.CacheRead)
		d.CacheWrite = max(d.CacheWrite, p.CacheWrite)
		d.CacheWrite1h = max(d.CacheWrite1h, p.CacheWrite1h)
	}
	return d
}
