package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Policy is what the user wants for each kind. A kind in no list has the response of what was found, and one in several
// lists the strictest. The zero value is the default. The tags are those of the settings.
type Policy struct {
	Refuse []Kind `toml:"refuse" of:"kind" tighten:"stricter" about:"kinds of change that are refused"`
	Ask    []Kind `toml:"ask" of:"kind" tighten:"stricter" about:"kinds of change that need your consent"`
	Tell   []Kind `toml:"tell" of:"kind" tighten:"stricter" about:"kinds of change that are only told of"`
}

// set is what the user has said of a kind; "" if nothing.
func (p Policy) set(k Kind) Response {
	for _, r := range []Response{Refuse, Ask, Tell} {
		if slices.Contains(*p.list(r), k) {
			return r
		}
	}
	return ""
}

func (p *Policy) list(r Response) *[]Kind {
	return map[Response]*[]Kind{Refuse: &p.Refuse, Ask: &p.Ask, Tell: &p.Tell}[r]
}

// Response says what happens at most if a kind is found.
func (p Policy) Response(k Kind) Response { return cmp.Or(p.set(k), k.row().response) }

// Of says what happens with what was found of a kind.
func (p Policy) Of(g Group) Response { return cmp.Or(p.set(g.Kind), g.Response, g.Kind.row().response) }

// Tighten gives the stricter of two policies for each kind, and names the kinds for which the other is milder.
func (p Policy) Tighten(other Policy) (out Policy, milder []Kind) {
	for _, k := range Kinds() {
		want := other.set(k)
		if want != "" && want.order() < p.Response(k).order() {
			milder = append(milder, k)
			want = ""
		}
		if want == Tell && p.set(k) == "" { // nothing is milder
			want = ""
		}
		if to := out.list(cmp.Or(want, p.set(k))); to != nil {
			*to = append(*to, k)
		}
	}
	return out, milder
}

// ParseKinds reads names of kinds.
func ParseKinds(names []string) (all []Kind, err error) {
	for _, n := range names {
		k := Kind(strings.TrimSpace(n))
		if !k.Known() {
			return nil, fmt.Errorf("no kind %q; there are %s", n, join(Kinds()))
		}
		all = append(all, k)
	}
	return all, nil
}

// HeldError says that something stays out until the user has accepted it.
type HeldError struct{ Refused, Asked []Kind }

func (e *HeldError) Error() string {
	var parts []string
	if len(e.Refused) > 0 {
		parts = append(parts, "refused: "+join(e.Refused))
	}
	if len(e.Asked) > 0 {
		parts = append(parts, "needs your consent: "+join(e.Asked))
	}
	return strings.Join(parts, "; ")
}

// Kinds are all kinds that hold it up.
func (e *HeldError) Kinds() []Kind { return slices.Concat(e.Refused, e.Asked) }

// Flag is what accepts all of it.
func (e *HeldError) Flag() string {
	return "--accept " + strings.ReplaceAll(join(e.Kinds()), ", ", ",")
}

func join(list []Kind) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}

// Judge says what keeps a report's content out; nil if nothing does.
func (p Policy) Judge(r Report, accepted []Kind) *HeldError {
	var e HeldError
	for _, g := range r.Groups {
		if slices.Contains(accepted, g.Kind) {
			continue
		}
		switch p.Of(g) {
		case Refuse:
			e.Refused = append(e.Refused, g.Kind)
		case Ask:
			e.Asked = append(e.Asked, g.Kind)
		case Tell:
		}
	}
	if len(e.Refused)+len(e.Asked) == 0 {
		return nil
	}
	return &e
}
