package install

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against 72 seconds of silence and an error in Node's words behind a proxy that breaks TLS open. npm is real.
func TestACertificateThatIsRefusedIsExplained(t *testing.T) {
	if _, err := proc.LookPath("npm"); err != nil {
		t.Fatal("npm is missing: install Node.js")
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // each refusal
	server.StartTLS()
	defer server.Close()
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"} {
		t.Setenv(name, server.URL)
	}
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "npm_config_cafile", "NODE_TLS_REJECT_UNAUTHORIZED",
		"npm_config_strict_ssl", "NPM_CONFIG_STRICT_SSL", "https_proxy", "HTTPS_PROXY", "npm_config_https_proxy"} {
		t.Setenv(name, "")
		must.Do(t, os.Unsetenv(name))
	}
	var seen []time.Duration
	data := t.TempDir()
	_, err := Install(t.Context(), data, adapter(t, "claude"), "", Host(), func(_ int64, took time.Duration) {
		seen = append(seen, took)
	})
	refused := (*TLSError)(nil)
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "NODE_EXTRA_CA_CERTS") {
		t.Errorf("err = %v", err)
	}
	if len(seen) == 0 {
		t.Error("nothing was said meanwhile")
	}
	alone(t, data, "claude")
}

func TestRemoveLeavesOtherVersions(t *testing.T) {
	data, _, _ := stage(t)
	a := adapter(t, "claude")
	for _, version := range []string{"2.5.0", "2.9.0"} {
		must.Get(Install(t.Context(), data, a, version, Host(), nil))(t)
	}
	list := Versions(data, a, Host())
	if len(list) != 2 || list[0].Version != "2.9.0" || len(Platforms(data, a)) != 1 {
		t.Fatalf("%+v on %v", list, Platforms(data, a))
	}
	must.Do(t, Remove(list[0]))
	alone(t, data, "claude", "2.5.0")
	if _, err := os.Stat(filepath.Join(Dir(data, "claude", Host()), "2.5.0", recordFile)); err != nil {
		t.Error(err)
	}
}
