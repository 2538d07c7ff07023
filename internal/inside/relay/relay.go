// Package relay connects a program in a box to its way out: it copies connections to a port on the box's own loopback
// to a unix socket, behind which the broker decides. It decides nothing itself. Main opens the port, leaves it to a
// helper and becomes the program: terminal, signals and exit status are then the program's own, as if there were no
// relay.
package relay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/proc"
)

// Mark stands for the relay's address, HOST:PORT, in the arguments and the environment of the program that it starts.
const Mark = "@cco-door@"

// helper is the first argument of the process that copies.
const helper = "--helper"

// These are a shell's statuses for a program that it can't run.
const (
	cantRun  = 126
	notFound = 127
)

// Main is `cco-box relay SOCKET -- ARGV…`. It returns only if the program can't be started.
func Main(args []string) int {
	if len(args) == 3 && args[0] == helper {
		return help(args[1], args[2])
	}
	if len(args) < 3 || args[1] != "--" {
		return complain(2, errors.New("want SOCKET -- ARGV"))
	}
	socket, err := filepath.Abs(args[0])
	if err != nil {
		return complain(2, err)
	}
	program, err := proc.LookPath(args[2])
	if errors.Is(err, fs.ErrPermission) {
		return complain(cantRun, err)
	}
	if err != nil {
		return complain(notFound, err)
	}
	address, err := startHelper(socket)
	if err != nil {
		return complain(1, err)
	}
	err = syscall.Exec(program, fill(args[2:], address), fill(os.Environ(), address))
	return complain(cantRun, fmt.Errorf("%s: %w", program, err))
}

func complain(code int, err error) int {
	fmt.Fprintf(os.Stderr, "cco-box: relay: %v\n", err)
	return code
}

// fill replaces the mark with the address.
func fill(list []string, address string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ReplaceAll(s, Mark, address)
	}
	return out
}

// startHelper opens the port and starts the helper that serves it. Connections that come before the helper is ready
// wait in the queue.
func startHelper(socket string) (address string, err error) {
	var config net.ListenConfig
	l, err := config.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return "", fmt.Errorf("not a TCP port: %T", l)
	}
	port, err := tcp.File()
	if err != nil {
		return "", err
	}
	defer func() { _ = port.Close() }()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = null.Close() }()
	_, err = syscall.ForkExec(self, []string{"cco-box", "relay", helper, socket, strconv.Itoa(os.Getpid())},
		&syscall.ProcAttr{
			Files: []uintptr{null.Fd(), null.Fd(), 2, port.Fd()},
			Env:   onTerminal(),
			Sys:   apart(),
		})
	if err != nil {
		return "", fmt.Errorf("start helper: %w", err)
	}
	return l.Addr().String(), nil
}

// onTerminal tells the helper where to write that the program is alone, which matters where it does not end by itself.
func onTerminal() []string {
	if info, err := os.Stdin.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return []string{exchangeVar + "=" + os.Getenv(exchangeVar)}
}

// Proxies are the variables that tell programs to use a door as their proxy, under every name in use. The token is the
// one that the door requires.
func Proxies(token string) []string {
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"=http://cco:"+token+"@"+Mark)
	}
	const loopback = "localhost,127.0.0.1,::1"
	return append(env, "NO_PROXY="+loopback, "no_proxy="+loopback)
}
