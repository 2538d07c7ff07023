// Package guest is `cco-box guest`: cco's part that runs as root inside a virtual machine and keeps native boxes there
// for the cco outside, in which each session is a user of its own.
package guest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native"
	"github.com/cco-dev/cco/internal/box/remote"
	"github.com/cco-dev/cco/internal/proc"
)

// Where things are in the machine.
const (
	Dir      = "/usr/local/lib/cco"      // cco's programs
	Socket   = "/run/cco-guest/cco.sock" // Lima forwards it to the host
	Exchange = "/exchange"
	boxes    = "/var/lib/cco/boxes"
	doors    = "/run/cco-doors"
)

// Parts are the programs that a machine needs, in the order in which they are summed up.
func Parts() []string { return []string{"cco-box", "cco-guard"} }

// Version sums up the programs in a directory, so that a machine's can be compared with the host's.
func Version(dir string) (string, error) {
	sum := sha256.New()
	for _, name := range Parts() {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:12]), nil
}

// Main is `cco-box guest USER`: it serves those who reach its socket, which only USER can. It returns the exit code.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "cco-box guest: it is started by systemd, inside a virtual machine")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "cco-box guest:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, owner string) error {
	if os.Getuid() != 0 {
		return errors.New("only root can keep sessions apart")
	}
	version, err := Version(Dir)
	if err != nil {
		return err
	}
	if err := firewall(ctx); err != nil {
		return err
	}
	l, err := listen(owner)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	server := &remote.Server{
		Driver: native.New(native.Options{
			Tool: filepath.Join(Dir, "cco-box"), Guard: filepath.Join(Dir, "cco-guard"), Path: os.Getenv("PATH"), Apart: true,
			Foreign: true, Nested: true,
		}),
		Dir: boxes, Exchange: Exchange, Doors: doors, Version: version,
	}
	return server.Serve(ctx, l)
}

// listen makes the socket, for root and its one user.
func listen(owner string) (net.Listener, error) {
	u, err := user.Lookup(owner)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(Socket), 0o755); err != nil { // the socket is closed itself
		return nil, err
	}
	_ = os.Remove(Socket)
	defer syscall.Umask(syscall.Umask(0o177))
	l, err := net.Listen("unix", Socket) //nolint:noctx // it is there at once
	if err != nil {
		return nil, err
	}
	return l, os.Chown(Socket, uid, -1)
}

// firewall drops everything that a session's user sends, in case one ever leaves its empty network. Only root could
// change it, and no session is root.
func firewall(ctx context.Context) error {
	rules := fmt.Sprintf(`table inet cco
delete table inet cco
table inet cco {
	chain output {
		type filter hook output priority 0; policy accept;
		meta skuid %d-%d drop
	}
}
`, cage.FirstUID, cage.FirstUID+1_000_000)
	if err := proc.Run(ctx, proc.Cmd{Argv: []string{"nft", "-f", "-"}, Stdin: strings.NewReader(rules)}); err != nil {
		return fmt.Errorf("close the network to sessions: %w", err)
	}
	return nil
}
