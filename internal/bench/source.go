package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// source is a server that sends a lot to everybody who connects.
type source struct {
	l    net.Listener
	size int64
}

func newSource(size int64) (*source, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is there at once
	if err != nil {
		return nil, err
	}
	s := &source{l, size}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.send(c)
		}
	}()
	return s, nil
}

func (s *source) addr() string { return s.l.Addr().String() }

func (s *source) close() { _ = s.l.Close() }

func (s *source) send(c net.Conn) {
	defer func() { _ = c.Close() }()
	piece := make([]byte, 256<<10)
	for left := s.size; left > 0; left -= int64(len(piece)) {
		if _, err := c.Write(piece); err != nil {
			return
		}
	}
}

func (s *source) directly(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr())
	if err != nil {
		return 0, err
	}
	return s.drain(start, c, c)
}

func (s *source) through(ctx context.Context, socket string) (time.Duration, error) {
	start := time.Now()
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	cred := base64.StdEncoding.EncodeToString([]byte("cco:" + doorToken))
	if _, err := fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic %s\r\n\r\n", s.addr(),
		cred); err != nil {
		return 0, err
	}
	r := bufio.NewReaderSize(c, 256<<10)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}) //nolint:bodyclose // the tunnel has none
	if err != nil {
		return 0, err
	}
	if res.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("CONNECT: %s", res.Status)
	}
	return s.drain(start, c, r)
}

func (s *source) drain(start time.Time, c net.Conn, r io.Reader) (time.Duration, error) {
	defer func() { _ = c.Close() }()
	buf := make([]byte, 256<<10)
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
	if err == nil && n != s.size {
		err = fmt.Errorf("%d bytes of %d", n, s.size)
	}
	return time.Since(start), err
}
