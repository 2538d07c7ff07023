package host

import (
	"fmt"
	"slices"
	"testing"
)

func TestSocketPaths(t *testing.T) {
	table := "Num       RefCount Protocol Flags    Type St Inode Path\n" +
		"000000007a8a6f8d: 00000002 00000000 00010000 0001 01 540846 /run/a b\n" +
		"000000007a8a6f8d: 00000003 00000000 00000000 0001 03 540847 /run/a b\n" +
		"000000007a8a6f8e: 00000002 00000000 00010000 0001 01 540848 @abstract\n" +
		"000000007a8a6f8f: 00000002 00000000 00010000 0001 01 540849\n" +
		"000000007a8a6f90: 00000002 00000000 00010000 0002 01 540850 relative\n" +
		"000000007a8a6f91: 00000002 00000000 00010000 0001 01 540851 /link/../link/s\n" +
		"000000007a8a6f92: 00000002 00000000 00010000 0001 01 540852 /gone/s\n"
	got := socketPaths([]byte(table), func(dir string) (string, error) {
		switch dir {
		case "/link":
			return "/real", nil
		case "/run":
			return dir, nil
		}
		return "", fmt.Errorf("no %s", dir)
	})
	if want := []string{"/run/a b", "/real/s"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
