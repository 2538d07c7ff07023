package git

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/cco-dev/cco/internal/proc"
)

// transaction is a prepared move of one ref: it is locked and where we expect it. If we die, git sees the end of its
// input and gives the lock back.
type transaction struct {
	in   io.WriteCloser
	out  *bufio.Reader
	pipe io.Closer
	p    *proc.Process
	ctx  context.Context // a transaction lives within one call
	name string
	over bool
}

func (r *Repo) lockBranch(ctx context.Context, branch, from, to string) (*transaction, error) {
	name := "refs/heads/" + branch
	in, out, p, err := r.host.converse(ctx, "update-ref", "-m", reflogMessage, "--stdin", "-z")
	if err != nil {
		return nil, err
	}
	tx := &transaction{in: in, out: bufio.NewReader(out), pipe: out, p: p, ctx: ctx, name: name}
	if err := tx.send("start\x00", "start: ok\n"); err != nil {
		return nil, err
	}
	if err := tx.send("update "+name+"\x00"+to+"\x00"+from+"\x00prepare\x00", "prepare: ok\n"); err != nil {
		return nil, err
	}
	return tx, nil
}

// send sends commands and waits for the answer. Without it the transaction is over.
func (tx *transaction) send(commands, want string) error {
	_, err := io.WriteString(tx.in, commands)
	answer := ""
	if err == nil {
		answer, err = tx.out.ReadString('\n')
	}
	if err == nil && answer == want {
		return nil
	}
	if end := tx.end(); end != nil {
		return refError(end, tx.name)
	}
	return fmt.Errorf("git update-ref answered %s: %w", Quote(answer), io.ErrUnexpectedEOF)
}

func (tx *transaction) commit() error {
	if err := tx.send("commit\x00", "commit: ok\n"); err != nil {
		return err
	}
	// It is done, even if something fails after this.
	_ = tx.end()
	return nil
}

func (tx *transaction) abort() { _ = tx.end() }

// end closes the input, at which git undoes what wasn't committed.
func (tx *transaction) end() error {
	if tx.over {
		return nil
	}
	tx.over = true
	_ = tx.in.Close()
	err := tx.p.Wait()
	_ = tx.pipe.Close()
	if tx.ctx.Err() != nil {
		return tx.ctx.Err()
	}
	return err
}
