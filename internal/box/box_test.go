package box

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"cco-sandbox": true, "a": true, "0": true, "a-b-c": true, strings.Repeat("x", 40): true,
		"": false, "-a": false, "a-": false, "A": false, "a b": false, "a/b": false, "..": false, ".": false, "ä": false,
		"a\n": false,
		"a_b": false, strings.Repeat("x", 41): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
