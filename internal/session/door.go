package session

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/inside/relay"
	"github.com/cco-dev/cco/internal/tree"
)

// doorSocket is the way out of a box, in the exchange directory because that is what both sides see.
const doorSocket = "door.sock"

// NetFile is where the record of a session's way out is kept.
func (s *Service) NetFile(id string) string { return filepath.Join(s.dir(id), "net.jsonl") }

// doorway is a run's way out. The zero value is none.
type doorway struct {
	door   *broker.Door
	token  string
	tool   string // cco-box in the box
	socket string // as the box sees it
	limits broker.Limits
	close  func()
}

// openDoor opens the way out for as long as a run lasts.
func (k *keeper) openDoor(ctx context.Context, limits broker.Limits) (doorway, error) {
	none := doorway{close: func() {}}
	if k.Door == nil {
		return none, nil
	}
	cfg, err := k.Door(ctx, k.rec, k.box)
	if err != nil {
		return none, err
	}
	if len(cfg.Models) == 0 && cfg.Mode == broker.ModeNone {
		return none, nil
	}
	log := &netLog{path: k.NetFile(k.rec.ID), most: maxNetLog}
	cfg.Session, cfg.Token, cfg.Limits, cfg.Record, cfg.Now = k.rec.ID, newToken(), limits, log.add, k.Now
	door, err := broker.Open(cfg)
	if err != nil {
		return none, err
	}
	socket := filepath.Join(k.exchange(k.rec.ID), doorSocket)
	// What an agent may have put in its place is of no interest.
	if err := tree.Remove(socket); err != nil {
		return none, errors.Join(err, door.Close())
	}
	l, err := listen(socket)
	if err != nil {
		return none, errors.Join(fmt.Errorf("open the way out: %w", err), door.Close())
	}
	if err := openToAll(socket); err != nil {
		return none, errors.Join(fmt.Errorf("open the way out: %w", err), l.Close(), door.Close())
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = door.Serve(l) }()
	return doorway{
		door: door, limits: limits, token: cfg.Token, tool: k.place.Tool, socket: path.Join(k.place.Exchange, doorSocket),
		close: sync.OnceFunc(func() {
			_ = door.Close()
			_ = l.Close()
			<-served
			_ = os.Remove(socket)
			log.close()
		}),
	}, nil
}

// spent is what has passed.
func (d doorway) spent() func() broker.Spend {
	if d.door == nil {
		return nil
	}
	return d.door.Spent
}

// full says that the door lets no more requests through, because a limit is reached by its own count.
func (d doorway) full() bool {
	if d.door == nil {
		return false
	}
	s := d.door.Spent()
	return d.limits.Tokens > 0 && s.Tokens() >= d.limits.Tokens || d.limits.Cost > 0 && s.Cost >= d.limits.Cost
}

// address is what an agent is told of the door, before the relay has found a port.
func (d doorway) address() string {
	if d.door == nil {
		return ""
	}
	return relay.Mark
}

// lead makes a program find the door: the relay stands before it, and proxies are named in every way that programs
// know.
func (d doorway) lead(e box.Exec) box.Exec {
	if d.door == nil {
		return e
	}
	e.Argv = slices.Concat([]string{d.tool, "relay", d.socket, "--"}, e.Argv)
	proxy := "http://cco:" + d.token + "@" + relay.Mark
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+proxy)
	}
	const loopback = "localhost,127.0.0.1,::1"
	e.Env = slices.Concat(env, []string{"NO_PROXY=" + loopback, "no_proxy=" + loopback}, e.Env)
	return e
}

// newToken is what a session's agent shows at its door. It is worth nothing anywhere else.
func newToken() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // crypto/rand never fails; it ends the program instead
	return hex.EncodeToString(b)
}

// newUUID is a random one, for CLIs that let us choose the name of their conversation.
func newUUID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// maxNetLog bounds one file of the record; the one before it is kept too. An agent decides how often it asks.
const maxNetLog = 8 << 20

// netLog writes the record of what left a box, a line of JSON each.
type netLog struct {
	path string
	most int64

	mu   sync.Mutex
	file *os.File
	size int64
}

func (l *netLog) add(e broker.Entry) {
	line, err := json.Marshal(e)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil && !l.open() {
		return
	}
	n, _ := l.file.Write(append(line, '\n'))
	if l.size += int64(n); l.size > l.most {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
	}
}

func (l *netLog) open() bool {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return false
	}
	l.file, l.size = f, info.Size()
	return true
}

func (l *netLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
}
