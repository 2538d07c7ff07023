package broker

import (
	_ "embed" // the prices
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

// Price is what a family of models costs, in US dollars for a million tokens.
type Price struct {
	Prefix   string `toml:"prefix"`   // of the model's name; the longest match counts, "" matches all
	Provider string `toml:"provider"` // whose unknown models may cost as much; "" is every one's
	Source   string `toml:"source"`   // the CLI and its version whose package carries this price
	// it has no known price: it is counted like the model of this prefix, and called an estimate
	Like         string  `toml:"like"`
	Input        float64 `toml:"input"`
	Output       float64 `toml:"output"`
	CacheRead    float64 `toml:"cache_read"`       // 0 is as much as input
	CacheWrite   float64 `toml:"cache_write"`      // for five minutes, where there is a choice; at least as much as input
	CacheWrite1h float64 `toml:"cache_write_hour"` // for an hour
	// a prompt of more tokens than this costs what follows, and caches rise as input does
	LongOver   int64   `toml:"long_over"`
	LongInput  float64 `toml:"long_input"`
	LongOutput float64 `toml:"long_output"`
	// a relic that costs many times as much as what came later: no unknown model is taken for it
	Alone bool `toml:"alone"`
	list  bool // one of ours: it matches that model alone, not longer names
}

// Prices is a table of prices, in no order.
type Prices []Price

// What models cost as the packages of the pinned CLIs carry it; a test compares. Where a package has no price, there is
// no row, but for a default model of a pinned CLI: its row says like whom it is counted, its nearest predecessor with a
// price, and what it costs is called an estimate. What may follow a prefix are dates and a few words: a model with any
// other name, or a newer one, is none of these. It counts as the dearest of its provider, and is called an estimate.
//
//go:embed prices.json
var pricesFile []byte

// DefaultPrices are the prices that the pinned CLIs' own packages carry.
func DefaultPrices() (Prices, error) {
	var file struct{ Prices Prices }
	if err := json.Unmarshal(pricesFile, &file); err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	ps, err := finish(file.Prices)
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
	return finish(file.Price)
}

// finish gives what is counted like another the other's price, and refuses what is no price.
func finish(ps Prices) (Prices, error) {
	for i, p := range ps {
		if p.Like == "" {
			continue
		}
		at := slices.IndexFunc(ps, func(o Price) bool { return o.Prefix == p.Like && o.Like == "" })
		if at < 0 {
			return nil, fmt.Errorf("prices: %s is to cost as much as %s, which has no price", p.Prefix, p.Like)
		}
		ps[i] = ps[at]
		ps[i].Prefix, ps[i].Like = p.Prefix, p.Like
	}
	return ps, ps.check()
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

// Find gives the price of a model, and whether it has one.
func (ps Prices) Find(model string) (Price, bool) {
	best, found := Price{}, false
	for _, p := range ps {
		rest, fits := strings.CutPrefix(model, p.Prefix)
		if fits && (!p.list || same(p.Prefix, rest)) && (!found || len(p.Prefix) > len(best.Prefix)) {
			best, found = p, true
		}
	}
	return best, found
}

// same says whether the rest of a name after a prefix still means the same model: a date, or a word that has never
// changed a price. claude-opus-5-7, gpt-5.9, o3-pro and gemini-3-pro-image are others than claude-opus-5, gpt-5, o3 and
// gemini-3-pro.
func same(prefix, rest string) bool {
	return rest == "" || prefix != "" && nothingNew().MatchString(rest)
}

var nothingNew = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([-@:](\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d{3,4}|latest|preview|exp|codex|max|chat))+$`)
})

// dearest is the provider's highest price of each kind, for prompts of an ordinary length: for models that are not in
// the table. Models that make images count only for names that say so.
func (ps Prices) dearest(provider, model string) (d Price) {
	const image = "image"
	for _, p := range ps {
		if p.Alone || p.Provider != "" && p.Provider != provider || strings.Contains(p.Prefix, image) &&
			!strings.Contains(model, image) {
			continue
		}
		read, write := p.caches()
		d.Input = max(d.Input, p.Input)
		d.Output = max(d.Output, p.Output)
		d.CacheRead = max(d.CacheRead, read)
		d.CacheWrite = max(d.CacheWrite, write)
		d.CacheWrite1h = max(d.CacheWrite1h, p.CacheWrite1h)
	}
	return d
}

// caches are the prices of reading from a cache and of writing to one.
func (p Price) caches() (read, write float64) {
	if read = p.CacheRead; read == 0 {
		read = p.Input
	}
	return read, max(p.CacheWrite, p.Input)
}

// of is what counts cost.
func (p Price) of(c counts) float64 {
	read, write := p.caches()
	hour := max(p.CacheWrite1h, write)
	in, out := p.Input, p.Output
	if p.LongOver > 0 && c.input+c.cacheRead+c.cacheWrite > p.LongOver && p.Input > 0 {
		more := p.LongInput / p.Input
		in, out = p.LongInput, p.LongOutput
		read, write, hour = read*more, write*more, hour*more
	}
	sum := float64(c.input)*in + float64(c.output)*out + float64(c.cacheRead)*read +
		float64(c.cacheWrite-c.cacheWrite1h)*write + float64(c.cacheWrite1h)*hour
	return sum/1e6*max(c.dearer, 1) + float64(c.searches)*searchPrice + c.fees
}
