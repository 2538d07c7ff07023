package hook

import (
	"errors"
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

// line is the denial as the log takes it.
func (h Hook) line(r result) string {
	var at time.Time
	if h.Now != nil {
		at = h.Now().UTC()
	}
	line := `{"time":` + jsontext.Quote(at.Format(time.RFC3339Nano))
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
