package broker

import (
	"fmt"
	"net/http"
	"strings"
)

// Provider is a kind of model service: where it is, how its key travels and how it reports usage.
type Provider struct {
	Name    string   // also the first part of its routes: /anthropic/…
	Base    string   // its own base URL
	BaseVar string   // the host's variable for another base URL
	KeyVars []string // the host's variables that hold a key, the first that is set counts
	wire    wire
}

// wire says how a provider's requests and answers look.
type wire int

const (
	wireAnthropic wire = iota + 1
	wireOpenAI
	wireGemini
)

// Providers lists the model services that the broker knows.
func Providers() []Provider {
	return []Provider{
		{
			Name: "anthropic", Base: "https://api.anthropic.com", BaseVar: "ANTHROPIC_BASE_URL", wire: wireAnthropic,
			KeyVars: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		},
		{
			Name: "openai", Base: "https://api.openai.com/v1", BaseVar: "OPENAI_BASE_URL", wire: wireOpenAI,
			KeyVars: []string{"OPENAI_API_KEY"},
		},
		{
			Name: "gemini", Base: "https://generativelanguage.googleapis.com", BaseVar: "GOOGLE_GEMINI_BASE_URL",
			wire:    wireGemini,
			KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		},
	}
}

// FindProvider gives the provider of that name.
func FindProvider(name string) (Provider, error) {
	for _, p := range Providers() {
		if p.Name == name {
			return p, nil
		}
	}
	return Provider{}, &UnknownProviderError{name}
}

// UnknownProviderError says that there is no provider of that name.
type UnknownProviderError struct{ Name string }

func (e *UnknownProviderError) Error() string {
	return fmt.Sprintf("no model provider %q: there are anthropic, openai and gemini", e.Name)
}

// oauthBeta is what Anthropic wants along with a subscription's token, as its own CLI sends it.
const oauthBeta = "oauth-2025-04-20"

// sign puts the key where the provider looks for it. The box's own credentials have been removed from h before.
func (p Provider) sign(h http.Header, k Key) {
	if k.IsZero() {
		return
	}
	switch {
	case p.wire == wireAnthropic && k.subscription():
		h.Set("Authorization", "Bearer "+k.reveal())
		if betas := strings.Join(h.Values("Anthropic-Beta"), ","); !strings.Contains(betas, oauthBeta) {
			h.Set("Anthropic-Beta", strings.TrimPrefix(betas+","+oauthBeta, ","))
		}
	case p.wire == wireAnthropic && !k.bearer:
		h.Set("X-Api-Key", k.reveal())
	case p.wire == wireGemini && !k.bearer:
		h.Set("X-Goog-Api-Key", k.reveal())
	default:
		h.Set("Authorization", "Bearer "+k.reveal())
	}
}
