package durable

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/cco-dev/cco/internal/cruise"
)

// sealer marks what an engine writes into a database that others can write to. Its key is in this process alone: a life
// is carried on by nobody else. Without a key nothing is marked.
type sealer []byte

// life is what a life of a phase begins with.
type life struct {
	cruise.State
	Seal string `json:"seal,omitempty"`
}

// outcome is what is recorded of a step.
type outcome struct {
	cruise.Outcome
	Seal string `json:"seal,omitempty"`
}

// of gives the seal of something that a life has at a place.
func (s sealer) of(flow string, n int, what string, v any) (string, error) {
	if s == nil {
		return "", nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	// As it is after it was read: words that are no UTF-8 have changed then.
	var plain any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		return "", err
	}
	if data, err = json.Marshal([]any{flow, n, what, plain}); err != nil {
		return "", err
	}
	sum := hmac.New(sha256.New, s)
	_, _ = sum.Write(data) // documented never to fail
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// check refuses what this engine has not written there.
func (s sealer) check(seal, flow string, n int, what string, v any) error {
	want, err := s.of(flow, n, what, v)
	if err == nil && !hmac.Equal([]byte(want), []byte(seal)) {
		err = fmt.Errorf("what the database has of %s of life %s was not written by this process", what, flow)
	}
	return err
}
