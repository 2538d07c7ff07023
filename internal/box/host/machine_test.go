package host

import (
	"strings"
	"testing"
)

// Guards against a row of the list that would pass a key or the way to an agent of keys.
func TestNoKeyIsOnTheList(t *testing.T) {
	for _, name := range Variables() {
		for _, bad := range []string{"KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CRED", "SOCK", "PROXY", "GIT_", "DISPLAY"} {
			if strings.Contains(name, bad) {
				t.Errorf("%s is passed", name)
			}
		}
	}
}
