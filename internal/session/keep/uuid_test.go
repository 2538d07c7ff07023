package keep

import (
	"regexp"
	"testing"
)

func TestNamesOfConversationsAreRandom(t *testing.T) {
	t.Parallel()
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if a, b := newUUID(), newUUID(); a == b || !uuid.MatchString(a) {
		t.Errorf("uuids %s, %s", a, b)
	}
}
