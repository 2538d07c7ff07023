package session

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
)

func TestADoorLeadsAProgramToIt(t *testing.T) {
	door, err := broker.Open(broker.Config{Token: "t0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = door.Close() }()
	d := doorway{door: door, token: "t0", tool: "/run/cco-box", socket: "/exchange/3f9c01aa/door.sock"}
	e := d.lead(box.Exec{Argv: []string{"claude", "-p"}, Env: []string{"A=1", "NO_PROXY=own"}})
	if want := []string{"/run/cco-box", "relay", "/exchange/3f9c01aa/door.sock", "--", "claude",
		"-p"}; !slices.Equal(e.Argv, want) {
		t.Errorf("argv %q", e.Argv)
	}
	for _, want := range []string{"HTTPS_PROXY=http://cco:t0@@cco-door@", "https_proxy=http://cco:t0@@cco-door@",
		"ALL_PROXY=http://cco:t0@@cco-door@",
		"no_proxy=localhost,127.0.0.1,::1", "A=1"} {
		if !slices.Contains(e.Env, want) {
			t.Errorf("env %q lacks %s", e.Env, want)
		}
	}
	if e.Env[len(e.Env)-1] != "NO_PROXY=own" {
		t.Error("the agent's own settings must have the last word")
	}
	var none doorway
	if e := none.lead(box.Exec{Argv: []string{"x"}}); len(e.Argv) != 1 || e.Env != nil || none.address() != "" ||
		none.spent() != nil {
		t.Errorf("without a door: %+v", e)
	}
}

func TestTokensAndNamesAreRandom(t *testing.T) {
	if a, b := newToken(), newToken(); a == b || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("tokens %s, %s", a, b)
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := newUUID(), newUUID(); a == b || !uuid.MatchString(a) {
		t.Errorf("uuids %s, %s", a, b)
	}
}

// Guards against an agent that fills the disk by asking often.
func TestTheNetLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.jsonl")
	l := &netLog{path: path, most: 10_000}
	long := strings.Repeat("x", 1000)
	for range 35 {
		l.add(broker.Entry{Host: long})
	}
	l.close()
	for _, p := range []string{path, path + ".1"} {
		info, err := os.Stat(p)
		if err != nil || info.Size() > 12_000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %+v, %v", p, info, err)
		}
	}
	l.add(broker.Entry{Host: "again"}) // after it was closed it begins again, for late requests
	l.close()
	if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data), `"again"`) {
		t.Errorf("the last entry is lost: %v", err)
	}
}
