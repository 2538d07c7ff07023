package view

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
)

// The words by which commands speak to the page, at a socket that only the user can reach: nothing that lets anybody in
// is ever sent to a port, which another program may have taken.
const (
	socketName = "page.sock"
	wordCode   = "code"
	wordForget = "forget"
)

// listenToCommands answers commands until the context ends.
func listenToCommands(ctx context.Context, at place, answer func(word string) string) (end func(), err error) {
	l, err := socket.Listen(at.file(socketName))
	if err == nil {
		err = os.Chmod(at.file(socketName), 0o600)
	}
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				if word, err := bufio.NewReader(io.LimitReader(c, 64)).ReadString('\n'); err == nil && ctx.Err() == nil {
					_, _ = io.WriteString(c, answer(strings.TrimSpace(word)))
				}
			}()
		}
	}()
	return func() { _, _ = l.Close(), os.Remove(at.file(socketName)) }, nil
}

// say says a word to the page of a data directory.
func say(ctx context.Context, data, word string) (string, error) {
	c, err := socket.Dial(ctx, placeOf(data).file(socketName))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return "", &NotRunningError{}
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	_, err = io.WriteString(c, word+"\n")
	answer, wrong := io.ReadAll(io.LimitReader(c, 1<<10))
	if err = errors.Join(err, wrong); err == nil && len(answer) == 0 {
		err = errors.New("`cco view` does not answer")
	}
	return string(answer), err
}

// Code asks the page of a data directory for a code that lets a browser in, and says where to give it.
func Code(ctx context.Context, data string) (address, code string, err error) {
	answer, err := say(ctx, data, wordCode)
	address, code, _ = strings.Cut(answer, " ")
	return address, code, err
}

// Forget lets nobody in any more who came in before, and says whether a page is served.
func Forget(ctx context.Context, data string) (running bool, err error) {
	if err := os.Remove(placeOf(data).file("key")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	_, err = say(ctx, data, wordForget) // and it is done when it answers
	if _, none := errors.AsType[*NotRunningError](err); none {
		return false, nil
	}
	return err == nil, err
}

// jump is a page that leads to an address, which is JSON: that escapes what could end a script.
const jump = `<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>cco</title>
<script>location.replace(%s)</script>
`

// Jump writes a file that leads a browser in. The code is in it alone: not in an argument that others could list, and
// behind a # that browsers send to nobody.
func Jump(ctx context.Context, data string) (address, file string, err error) {
	address, code, err := Code(ctx, data)
	if err != nil {
		return address, "", err
	}
	to, err := json.Marshal(address + "/#code=" + code)
	if err != nil {
		return address, "", err
	}
	at := placeOf(data)
	return address, at.file("open.html"), at.replace("open.html", fmt.Appendf(nil, jump, to))
}

// Open leads the user's browser in.
func Open(ctx context.Context, data string, env func(string) string) error {
	address, file, err := Jump(ctx, data)
	if err != nil {
		return err
	}
	opener := env("BROWSER")
	switch {
	case opener != "" && !strings.ContainsAny(opener, " :%"):
	case runtime.GOOS == "darwin":
		opener = "open"
	default:
		opener = "xdg-open"
	}
	path, err := proc.LookPath(opener)
	if err != nil {
		return fmt.Errorf("no %s here: open %s in a browser within a minute, or type the code that `cco view code` "+
			"prints at %s", opener, file, address)
	}
	_, err = proc.Detach(proc.Cmd{Argv: []string{opener, file}, Path: path})
	return err
}
