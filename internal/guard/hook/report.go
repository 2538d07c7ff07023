package hook

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// maxReported bounds what is passed on of a tool's input.
const maxReported = 16 << 10

// report sends a denial to the log, as far as that can be done at once. The
// verdict stands whatever becomes of it.
func (h Hook) report(socket string, r result) {
	line := []byte(h.line(r) + "\n")
	if errors.Is(send(socket, syscall.SOCK_STREAM, line), syscall.EPROTOTYPE) {
		_ = send(socket, syscall.SOCK_DGRAM, line) // best effort
	}
}

// reportTurn says that a turn of the agent has begun or ended, and in which of its conversations, if anybody listens.
func (h Hook) reportTurn() {
	data, _ := io.ReadAll(io.LimitReader(h.In, MaxInput))
	session := `""`
	_ = jsontext.Object(string(data), func(name, value string) error {
		if s, err := jsontext.String(value); name == "session_id" && err == nil {
			session = jsontext.Quote(s[:min(len(s), 100)])
		}
		return nil
	})
	policy, err := h.policy()
	if err == nil && policy.AuditSocket != "" {
		_ = send(policy.AuditSocket, syscall.SOCK_STREAM, []byte(`{"kind":"turn","part":`+jsontext.Quote(h.Turn)+
			`,"session":`+session+"}\n"))
	}
}

// line is the denial as the log takes it.
func (h Hook) line(r result) string {
	var at time.Time
	if h.Now != nil {
		at = h.Now().UTC()
	}
	line := `{"kind":"denial","time":` + jsontext.Quote(at.Format(time.RFC3339Nano))
	for _, f := range [...]struct{ name, text string }{
		{"agent", h.Agent}, {"cwd", r.call.Cwd}, {"tool_name", r.call.Tool}, {"rule", string(r.verdict.Rule)},
		{"reason", r.verdict.Message()}, {"part", r.verdict.Part}, {"path", r.verdict.Path},
	} {
		if f.text != "" {
			line += `,"` + f.name + `":` + jsontext.Quote(f.text)
		}
	}
	if input := string(r.call.Input); len(input) <= maxReported && jsontext.Valid(input) {
		// White space could hold the end of a line, which ends the report.
		line += `,"tool_input":` + strings.NewReplacer("\n", " ", "\r", " ").Replace(input)
	}
	return line + "}"
}

// send writes to a unix socket without waiting. It does without package net,
// which every tool call would otherwise pay for when the hook starts.
func send(name string, kind int, line []byte) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, kind, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was promised
	if err := syscall.SetNonblock(fd, true); err != nil {
		return err
	}
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: name}); err != nil {
		return err
	}
	_, err = syscall.Write(fd, line)
	return err
}

// maxLog is the size at which a log is moved away and begun anew, as package
// audit does it, which is too much for a program that every tool call starts.
const maxLog = 8 << 20

// write appends a line to a log.
func write(name string, line []byte) error {
	const flags = syscall.O_WRONLY | syscall.O_APPEND | syscall.O_CREAT | syscall.O_NOFOLLOW | syscall.O_NONBLOCK |
		syscall.O_CLOEXEC
	fd, err := syscall.Open(name, flags, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }() // nothing was promised
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err == nil && st.Size >= maxLog && syscall.Rename(name, name+".1") == nil {
		return write(name, line)
	}
	_, err = syscall.Write(fd, line)
	return err
}
