package phases

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestServicesNameTheProgramAndNothingElseOfTheShell(t *testing.T) {
	t.Parallel()
	const self = `/opt/a "b"/100%/cco<cruise>`
	env := []string{"PATH=/bin:/a&b", "XDG_DATA_HOME=/home/a b"}
	u := unit(self, env)
	for _, want := range []string{`ExecStart="/opt/a \"b\"/100%%/cco<cruise>" cruise serve`,
		`Environment="XDG_DATA_HOME=/home/a b"`, "Restart=on-failure"} {
		if !strings.Contains(u, want) {
			t.Errorf("no %s in\n%s", want, u)
		}
	}
	p := plist(self, env)
	// A worker that was drained has ended in order, and stays so until it is started again.
	if !strings.Contains(p, "<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>") {
		t.Errorf("it is begun again whatever ended it: %s", p)
	}
	text := ""
	for d := xml.NewDecoder(strings.NewReader(p)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, p)
		}
		if words, ok := token.(xml.CharData); ok {
			text += string(words) + "|"
		}
	}
	for _, want := range []string{self + "|", "/bin:/a&b|", "cruise|", "serve|"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}
