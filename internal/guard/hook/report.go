package hook

import (
	"encoding/json"
	"errors"
	"syscall"
	"time"
)

// Denial is one line of the audit log.
type Denial struct {
	Time   time.Time       `json:"time"`
	Agent  string          `json:"agent"`
	Cwd    string          `json:"cwd,omitempty"`
	Tool   string          `json:"tool_name,omitempty"`
	Input  json.RawMessage `json:"tool_input,omitempty"`
	Rule   string          `json:"rule"`
	Reason string          `json:"reason"`
	Part   string          `json:"part,omitempty"`
	Path   string          `json:"path,omitempty"`
}

// maxReported bounds what is passed on of a tool's input.
const maxReported = 16 << 10

// report sends a denial to the log, as far as that can be done at once. The
// verdict stands whatever becomes of it.
func (h Hook) report(socket string, r result) {
	d := Denial{
		Agent: h.Agent, Cwd: r.call.Cwd, Tool: r.call.Tool,
		Rule: string(r.verdict.Rule), Reason: r.verdict.Message(), Part: r.verdict.Part, Path: r.verdict.Path,
	}
	if h.Now != nil {
		d.Time = h.Now().UTC()
	}
	if len(r.call.Input) <= maxReported && json.Valid(r.call.Input) {
		d.Input = r.call.Input
	}
	line, err := json.Marshal(d)
	if err != nil {
		return
	}
	line = append(line, '\n')
	if errors.Is(send(socket, syscall.SOCK_STREAM, line), syscall.EPROTOTYPE) {
		_ = send(socket, syscall.SOCK_DGRAM, line) // best effort
	}
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
