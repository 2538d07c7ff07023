package gittest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
)

// stream is input for git fast-import, made as it is read.
type stream struct {
	commits, files int
	next           int
	rng            *rand.Rand
	buf            bytes.Buffer
}

// Read gives the next part of the stream.
func (s *stream) Read(p []byte) (int, error) {
	if s.rng == nil {
		s.rng = rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	}
	for s.buf.Len() == 0 {
		if s.next > s.commits {
			return 0, io.EOF
		}
		if s.next == s.commits {
			s.buf.WriteString("done\n")
		} else {
			s.commit()
		}
		s.next++
	}
	return s.buf.Read(p)
}

func (s *stream) commit() {
	fmt.Fprintf(&s.buf, "commit refs/heads/main\ncommitter Test <test@example.org> %d +0000\n", 1_700_000_000+s.next*60)
	s.data(fmt.Sprintf("Change number %d\n", s.next))
	// The files appear over the first commits, then two change in each.
	first := min(s.files, max(1, s.files*10/max(1, s.commits)))
	if from := s.next * first; from < s.files {
		for i := from; i < min(from+first, s.files); i++ {
			s.file(i)
		}
	}
	for range 2 {
		s.file(s.rng.IntN(min(s.files, (s.next+1)*first)))
	}
}

func (s *stream) file(i int) {
	fmt.Fprintf(&s.buf, "M 100644 inline src/dir%02d/pkg%d/file%d.txt\n", i%40, i%5, i)
	var content bytes.Buffer
	for line := range 30 {
		fmt.Fprintf(&content, "line %d of file %d: %x\n", line, i, s.rng.Uint32N(1000))
	}
	s.data(content.String())
}

func (s *stream) data(text string) { fmt.Fprintf(&s.buf, "data %d\n%s\n", len(text), text) }
