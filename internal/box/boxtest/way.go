package boxtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/socket"
)

// wayOut lets a program talk to a socket of the host through the relay. The program keeps its own exit status, and
// other programs don't find the way.
func wayOut(s *suite) {
	s.session(one)
	way := &box.Way{Socket: s.listen(), Env: []string{"DOOR=@cco-door@"}}
	const ask = `exec 3<>"/dev/tcp/${DOOR%:*}/${DOOR#*:}"; echo question >&3; read -r answer <&3; echo "$answer"; exit 3`
	for _, id := range []string{one, ""} {
		stdout, stderr, err := s.run(box.Exec{Session: id, Argv: []string{"bash", "-c", ask}, Way: way})
		wantText(s.T, stdout, "QUESTION")
		wantCode(s.T, err, 3)
		if s.Failed() {
			s.Log(stderr)
		}
	}
	if stdout, _, _ := s.run(sh(one, `echo "$DOOR"; ls "$1"`, way.Socket)); strings.TrimSpace(stdout) != "" &&
		strings.TrimSpace(stdout) != way.Socket {
		s.Errorf("a program without a way out sees %q", stdout)
	}
}

// listen answers each line in upper case, on a socket in a directory of its own.
func (s *suite) listen() string {
	s.Helper()
	dir, err := os.MkdirTemp(filepath.Dir(s.box.Exchange), "door")
	s.must(err)
	s.must(os.Chmod(dir, 0o755)) // the directories above it are closed
	path := filepath.Join(dir, "s")
	l, err := socket.ListenAll(path)
	s.must(err)
	s.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				line := make([]byte, 256)
				n, _ := c.Read(line)
				_, _ = io.Copy(c, bytes.NewReader(bytes.ToUpper(line[:n])))
			}()
		}
	}()
	return path
}
