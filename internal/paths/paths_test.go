package paths

import "testing"

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		name, dir string
		want      bool
	}{
		{"/a/b", "/a", true},
		{"/a/b/c", "/a", true},
		{"/a", "/a", true},
		{"/a", "/a/", true},
		{"/ab", "/a", false},
		{"/a", "/a/b", false},
		{"/b/a", "/a", false},
		{"/a", "/", true},
		{"/", "/", true},
		{"/", "/a", false},
		{"a/b", "a", true},
		{"ab", "a", false},
		{"a", "/", false},
		{"", "/a", false},
	} {
		if got := Within(c.name, c.dir); got != c.want {
			t.Errorf("%q in %q: %v", c.name, c.dir, got)
		}
	}
}
