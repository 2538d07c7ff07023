// Package database connects to the PostgreSQL that machines share for their phases.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// Options say which database, and how to reach it.
type Options struct {
	Address  string // without a password
	Password string // "" if it needs none
	// Plaintext and Unverified are the weaker connections to another machine that the user accepts.
	Plaintext, Unverified bool
}

// Database is an open one.
type Database struct {
	DB     *sql.DB
	Config *pgxpool.Config // for what makes connections of its own
	Name   string          // for people: host, port and name

	pool *pgxpool.Pool
}

const (
	// connections is how many of each kind a process has at most. The engine's own listener takes one of them for good.
	connections = 16
	// patience is how long a connection may take, unless the address says otherwise.
	patience = 10 * time.Second
	// idle is how long a transaction may wait for its process.
	idle = 30 * time.Second
	// vanished is how long a server may not be heard of at all.
	vanished = 30 * time.Second
)

// AwayError says that a database could not be reached.
type AwayError struct {
	Name string
	Err  error
}

func (e *AwayError) Error() string {
	return fmt.Sprintf("the database of phases at %s is away: %v: is it running, and are engine.database and "+
		"engine.password right? Phases stay as they are until it is back", e.Name, e.Err)
}

func (e *AwayError) Unwrap() error { return e.Err }

// WeakError says that a connection would be weaker than the user has accepted.
type WeakError struct{ Name, Mode, Why string }

func (e *WeakError) Error() string {
	return fmt.Sprintf("the database of phases at %s: %s; remove sslmode from engine.database, or accept it with "+
		"engine.accept = [%q]", e.Name, e.Why, e.Mode)
}

// WrongState marks an error about a state.
func (e *WeakError) WrongState() {}

// Open connects to a database and asks it something, so that a wrong address or password is told at once.
func Open(ctx context.Context, o Options) (*Database, error) {
	c, err := o.config()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	d := &Database{pool: pool, Config: c, DB: stdlib.OpenDBFromPool(pool), Name: name(&c.ConnConfig.Config)}
	if err := pool.Ping(ctx); err != nil {
		d.Close()
		if e, ok := errors.AsType[*pgconn.ConnectError](err); ok && e.Unwrap() != nil {
			err = e.Unwrap() // it repeats user and address
		}
		return nil, &AwayError{Name: d.Name, Err: err}
	}
	return d, nil
}

// Close ends all connections.
func (d *Database) Close() {
	_ = d.DB.Close()
	d.pool.Close()
}

func (o Options) config() (*pgxpool.Config, error) {
	u, err := url.Parse(o.Address)
	if err != nil {
		return nil, errors.New("engine.database is not an address") // it may hold a password
	}
	q := u.Query()
	if !q.Has("sslmode") {
		// Not that of the environment or a service's file, which may be weaker.
		q.Set("sslmode", map[bool]string{true: "prefer", false: "verify-full"}[near(u.Hostname()) && near(q.Get("host"))])
	}
	u.RawQuery = q.Encode()
	c, err := pgxpool.ParseConfig(u.String())
	if err != nil {
		return nil, fmt.Errorf("engine.database: %w", err)
	}
	if o.Password != "" {
		c.ConnConfig.Password = o.Password
	}
	if c.ConnConfig.ConnectTimeout == 0 {
		c.ConnConfig.ConnectTimeout = patience
	}
	c.MaxConns = connections
	// What a process that was stopped has locked, the others get.
	c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("SET idle_in_transaction_session_timeout = %d", idle.Milliseconds()))
		return err
	}
	// A server that vanished never says so, and most statements wait for it.
	c.ConnConfig.DialFunc = (&net.Dialer{Timeout: c.ConnConfig.ConnectTimeout, Control: giveUp(vanished),
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: vanished / 2, Interval: vanished / 6, Count: 3},
	}).DialContext
	return c, o.strongEnough(&c.ConnConfig.Config)
}

// strongEnough looks at every way in which the library would connect, whatever the address says.
func (o Options) strongEnough(c *pgconn.Config) error {
	ways := append([]*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}}, c.Fallbacks...)
	for _, w := range ways {
		switch {
		case near(w.Host):
		case w.TLSConfig == nil && !o.Plaintext:
			return &WeakError{Name: name(c), Mode: "plaintext", Why: "everybody on the way could read and change what " +
				"phases do, because the connection need not be encrypted"}
		case w.TLSConfig != nil && w.TLSConfig.InsecureSkipVerify && w.TLSConfig.VerifyPeerCertificate == nil &&
			w.TLSConfig.VerifyConnection == nil && !o.Unverified:
			return &WeakError{Name: name(c), Mode: "unverified", Why: "another could answer in its place, because its " +
				"certificate is not checked"}
		}
	}
	return nil
}

// near says whether a host is this machine: a loopback address, a directory of sockets, or none at all.
func near(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || ip != nil && ip.IsLoopback()
}

func name(c *pgconn.Config) string {
	at := net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	if strings.HasPrefix(c.Host, "/") {
		at = c.Host
	}
	return strings.Join(slices.DeleteFunc([]string{at, c.Database}, func(s string) bool { return s == "" }), "/")
}
