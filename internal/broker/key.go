package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// Key is a secret that only a model's provider sees: every way of printing or encoding it gives "***".
type Key struct {
	secret func() string // a function, because fmt prints unexported fields of values that hold a Key
	bearer bool
}

const masked = "***"

// NewKey makes a Key of a secret. Bearer says that it travels as Authorization: Bearer where the provider's keys don't.
func NewKey(secret string, bearer bool) (Key, error) {
	secret = strings.TrimSpace(secret)
	switch {
	case secret == "":
		return Key{}, errors.New("the key is empty")
	case len(secret) > maxKey:
		return Key{}, fmt.Errorf("the key is longer than %d bytes", maxKey)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }):
		return Key{}, errors.New("the key is not one word of printable ASCII")
	}
	return Key{secret: func() string { return secret }, bearer: bearer}, nil
}

// IsZero says whether there is no key.
func (k Key) IsZero() bool { return k.secret == nil }

func (k Key) String() string { return masked }

// GoString is for %#v.
func (k Key) GoString() string { return masked }

// Format is for every verb of fmt.
func (k Key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// MarshalText is for JSON, TOML and loggers.
func (k Key) MarshalText() ([]byte, error) { return []byte(masked), nil }

func (k Key) reveal() string {
	if k.secret == nil {
		return ""
	}
	return k.secret()
}

// mask is the text to mask everywhere. A very short key is no secret ("none", "dummy" for a local model), and masking
// it would only garble answers.
func (k Key) mask() string {
	if s := k.reveal(); len(s) >= 12 {
		return s
	}
	return ""
}

// subscription says whether this is a Claude subscription's long-lived token.
func (k Key) subscription() bool { return strings.HasPrefix(k.reveal(), "sk-ant-oat") }

const (
	maxKey      = 16 << 10
	keyCmdLimit = 60 * time.Second // a password manager may ask its user
)

// KeySource says where a key is. Exactly one of Env, File, Keyring and Command is set.
type KeySource struct {
	Env     string   // a variable's name
	File    string   // a file with nothing else in it
	Keyring string   // SERVICE or SERVICE/ACCOUNT in the system's keyring
	Command []string // a program that prints it, such as a password manager
	Bearer  bool     // it travels as Authorization: Bearer; variables that are known to hold such tokens need not say so
}

// Check says whether the key's source exists, without getting the key: that may ask the user.
func (s KeySource) Check(getenv func(string) string) error {
	set := 0
	for _, there := range []bool{s.Env != "", s.File != "", s.Keyring != "", len(s.Command) > 0} {
		if there {
			set++
		}
	}
	if set != 1 {
		return errors.New("a key comes from exactly one of a variable, a file, the keyring and a command")
	}
	if s.Env != "" && getenv(s.Env) == "" {
		return fmt.Errorf("key from %s: it is not set", s.Env)
	}
	if s.File != "" {
		if _, err := os.Stat(s.File); err != nil {
			return fmt.Errorf("key from %s: %w", s.File, err)
		}
	}
	return nil
}

// LoadKey gets a key. Its errors never contain the key or anything that a program printed.
func LoadKey(ctx context.Context, s KeySource, getenv func(string) string) (Key, error) {
	if err := s.Check(getenv); err != nil {
		return Key{}, err
	}
	secret, where, err := s.read(ctx, getenv)
	if err != nil {
		return Key{}, fmt.Errorf("key from %s: %w", where, err)
	}
	k, err := NewKey(secret, s.Bearer || s.Env == "ANTHROPIC_AUTH_TOKEN" || s.Env == "CLAUDE_CODE_OAUTH_TOKEN")
	if err != nil {
		return Key{}, fmt.Errorf("key from %s: %w", where, err)
	}
	return k, nil
}

// LoadSecret gets another secret that is kept as keys are, such as the password of a database. Its errors never contain
// it.
func LoadSecret(ctx context.Context, s KeySource, getenv func(string) string) (string, error) {
	if err := s.Check(getenv); err != nil {
		return "", err
	}
	secret, where, err := s.read(ctx, getenv)
	secret = strings.TrimRight(secret, "\r\n")
	if err == nil && secret == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("secret from %s: %w", where, err)
	}
	return secret, nil
}

func (s KeySource) read(ctx context.Context, getenv func(string) string) (secret, where string, err error) {
	switch {
	case s.Env != "":
		return getenv(s.Env), s.Env, nil
	case s.File != "":
		secret, err = readKeyFile(s.File)
		return secret, s.File, err
	case s.Keyring != "":
		secret, err = runForKey(ctx, keyringCommand(s.Keyring))
		return secret, "the keyring's " + s.Keyring, err
	default:
		secret, err = runForKey(ctx, s.Command)
		return secret, "the command " + s.Command[0], err
	}
}

// FindKeyring says what is in the way of keeping a key in the system's keyring, without storing one.
func FindKeyring(ctx context.Context) error {
	argv := keyringCommand("cco/none")
	ctx, cancel := context.WithTimeout(ctx, keyCmdLimit)
	defer cancel()
	said := &bounded{most: maxKey, full: cancel}
	err := proc.Run(ctx, proc.Cmd{Argv: argv, Stdout: io.Discard, Stderr: said})
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return &NoKeyringError{Program: argv[0]}
	case err != nil && !keyringIsThere(said.buf.String()):
		return &NoKeyringError{Program: argv[0], There: true}
	}
	return nil
}

// StoreKey puts a key into the system's keyring. The program for that gets it on its standard input.
func StoreKey(ctx context.Context, name string, k Key) error {
	argv, said := keyringStore(name, k.reveal())
	ctx, cancel := context.WithTimeout(ctx, keyCmdLimit)
	defer cancel()
	err := proc.Run(ctx, proc.Cmd{Argv: argv, Stdin: strings.NewReader(said), Stdout: io.Discard, Stderr: io.Discard})
	switch {
	case errors.Is(err, proc.ErrNotFound):
		return &NoKeyringError{Program: argv[0]}
	case proc.Code(err) > 0:
		return fmt.Errorf("%s: exit status %d: is there a keyring, and is it unlocked?", argv[0], proc.Code(err))
	}
	return err
}

// NoKeyringError says that the system's program for its keyring is missing, or finds none.
type NoKeyringError struct {
	Program string
	There   bool
}

func (e *NoKeyringError) Error() string {
	if e.There {
		return e.Program + " finds no keyring that is unlocked"
	}
	return e.Program + " is not installed"
}

func readKeyFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil {
		return "", err
	} else if !st.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxKey+2))
	return string(data), err
}

// runForKey runs a program for what it prints, bounded in size and time. Its stderr is not repeated: some programs
// print the secret there.
func runForKey(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCmdLimit)
	defer cancel()
	out := &bounded{most: maxKey + 2, full: cancel}
	err := proc.Run(ctx, proc.Cmd{Argv: argv, Stdout: out, Stderr: io.Discard})
	if out.over {
		return "", fmt.Errorf("it printed more than %d bytes", maxKey)
	}
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) {
			return "", fmt.Errorf("%s is not installed", argv[0])
		}
		if code := proc.Code(err); code > 0 {
			return "", fmt.Errorf("exit status %d", code)
		}
		return "", err
	}
	return out.buf.String(), nil
}

// bounded keeps what is written to it up to a size, and calls full when there is more.
type bounded struct {
	buf  bytes.Buffer
	most int
	over bool
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.most {
		b.over = true
		b.full()
		return len(p), nil
	}
	return b.buf.Write(p)
}
