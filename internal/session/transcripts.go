package session

import (
	"errors"
	"os"

	"github.com/cco-dev/cco/internal/store"
)

// transcripts are those of sessions that have nothing else left: pruned before, or gone with their box.
func (s *Service) transcripts(list []store.Session) (old []Remains) {
	for _, v := range list {
		if _, err := os.Stat(s.orderFile(v.ID)); v.Live() || !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if n := s.transcriptSize(v.ID); n > 0 {
			old = append(old, Remains{ID: v.ID, Box: v.Box, What: "transcript of a " + string(v.State) + " session", Bytes: n})
		}
	}
	return old
}

func (s *Service) transcriptSize(id string) int64 { return size(s.TranscriptFile(id)) }

// dropTranscript removes what a session's agent has said.
func (s *Service) dropTranscript(id string) error {
	return IgnoreMissing(os.Remove(s.TranscriptFile(id)))
}
