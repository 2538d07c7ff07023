package cli

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/session/keep"
)

// keeperCommand is the hidden command with which push starts a keeper.
func keeperCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "keeper ID", Hidden: true, Args: exactly(1, "session id"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.keep(cmd.Context(), args[0]) },
	}
}

func (a *commands) keep(ctx context.Context, id string) error {
	// A closed terminal changes nothing, and Ctrl-C is for the command that follows the session. They are caught and
	// dropped: an ignored signal would stay ignored in every program that we start.
	signal.Reset(syscall.SIGHUP, syscall.SIGINT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT)
	for fd := 3; fd <= 4; fd++ {
		syscall.CloseOnExec(fd)
	}
	socket, lock := os.NewFile(3, "socket"), os.NewFile(4, "lock")
	defer func() { _ = lock.Close() }()
	listener, err := net.FileListener(socket)
	if err != nil {
		return err
	}
	_ = socket.Close()
	a.Mirror = nil // a session goes on when the service is away
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	return keep.Run(ctx, s, id, listener, lock)
}
