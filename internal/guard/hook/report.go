package hook

import (
	"cmp"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// maxReported bounds what is passed on of a tool's input.
const maxReported = 16 << 10

// reportTurn says that a turn of the agent has begun or ended, and in which of its conversations, if anybody listens.
func (h Hook) reportTurn() {
	data, _ := readAll(h.In)
	call, _ := jsontext.Parse(string(data))
	named, _ := call.Field("session_id")
	session, _ := named.Text()
	policy, err := h.policy()
	if err == nil && policy.AuditSocket != "" {
		_ = send(policy.AuditSocket, []byte(`{"kind":"turn","part":`+jsontext.Quote(h.Turn)+
			`,"session":`+jsontext.Quote(session[:min(len(session), 100)])+"}\n"))
	}
}

// noted is the kind of a report on a call that runs, because the kernel holds the agent.
const noted = "noted"

// report tells of a call wherever it is logged. The verdict stands whatever becomes of the report.
func (h Hook) report(r result, kind string) {
	socket := r.policy.AuditSocket
	if h.Socket != nil {
		socket = cmp.Or(h.Socket(), socket)
	}
	switch {
	case socket != "":
		_ = send(socket, []byte(h.line(r, kind)+"\n"))
	case r.policy.AuditLog != "":
		_ = write(r.policy.AuditLog, []byte(h.line(r, kind)+"\n"))
	}
}

// line is what was said, as the log takes it.
func (h Hook) line(r result, kind string) string {
	reason := r.verdict.Message()
	if kind == noted {
		reason = r.verdict.Reason // nothing was denied
	}
	line := `{"kind":"` + kind + `","time":` + jsontext.Quote(h.Now().UTC().Format(time.RFC3339Nano))
	for _, f := range [...]struct{ name, text string }{
		{"agent", h.Agent}, {"cwd", r.call.Cwd}, {"tool_name", r.call.Tool}, {"rule", string(r.verdict.Rule)},
		{"reason", reason}, {"part", r.verdict.Part}, {"path", r.verdict.Path},
	} {
		if f.text != "" {
			line += `,"` + f.name + `":` + jsontext.Quote(f.text)
		}
	}
	if input, err := jsontext.Parse(string(r.call.Input)); err == nil && len(input.Raw) <= maxReported {
		// White space could hold the end of a line, which ends the report.
		line += `,"tool_input":` + strings.NewReplacer("\n", " ", "\r", " ").Replace(input.Raw)
	}
	return line + "}"
}

// send writes to a unix socket without waiting. It does without package net,
// which every tool call would otherwise pay for when the hook starts.
func send(name string, line []byte) error {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
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
