package githubfake

import (
	"context"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Seed fills an empty repository with a main branch and so many branches with an open pull request each, quickly. The
// branches are called topic-1, topic-2 and so on.
func (s *Server) Seed(ctx context.Context, owner, name, author string, pulls int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[owner+"/"+name]
	var in strings.Builder
	commit := func(ref, text, from string) {
		fmt.Fprintf(&in, "commit refs/heads/%s\ncommitter Ada <ada@example.org> %d +0000\ndata 1\nx\n%sM 100644 inline "+
			"a.txt\ndata %d\n%s\n", ref, s.time().Unix(), from, len(text), text)
	}
	commit("main", "one\n", "")
	for i := range pulls {
		commit(fmt.Sprintf("topic-%d", i+1), fmt.Sprintf("one\ntwo %d\n", i), "from refs/heads/main\n")
	}
	if err := proc.Run(ctx, proc.Cmd{Argv: []string{"git", "-C", r.dir, "fast-import", "--quiet"}, Env: gitEnv(),
		Stdin: strings.NewReader(in.String())}); err != nil {
		return fmt.Errorf("seed %s/%s: %w", owner, name, err)
	}
	for i := range pulls {
		head := fmt.Sprintf("topic-%d", i+1)
		r.pulls = append(r.pulls, &pull{
			number: len(r.pulls) + 1, title: "Change " + head, author: author, head: head, base: "main", headSHA: r.ref(head),
			baseSHA: r.ref("main"),
			created: s.time(), updated: s.time(),
		})
	}
	r.version++
	return nil
}

// Say has somebody comment on a pull request.
func (s *Server) Say(owner, name string, number int, author, body string) {
	s.change(owner, name, func(r *repo) { s.say(r, r.find(number), author, body) })
}

// SayLine has somebody post a review with one comment on a line of a.txt, as Seed makes it.
func (s *Server) SayLine(owner, name string, number int, author, body string) {
	s.AddLateReview(owner, name, number, author, body, "a.txt", 2, s.time())
}
