//go:build heavy

package real

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge/giteatest"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/must"
)

// The users of the forges: ada owns the repository and cco acts for her, rev reviews, rob may write, eve is a stranger.
var users = []string{"ada", "rev", "rob", "eve"}

const repoName = "demo"

// site is a forge, as its own interface shows it.
type site struct {
	name, url, api string
	dir            string // what it keeps
	tokens         map[string]string
	replies        bool // lines of reviews are listed with their requests, and not review by review
}

func onGitea(t *testing.T) *site {
	t.Helper()
	g := giteatest.Start(t, users...)
	g.NewRepo(t, "ada", repoName, "rev", "rob")
	return &site{name: "gitea", url: g.URL, api: "/api/v1", dir: g.Dir, tokens: g.Tokens}
}

// onGitHub is a fake, because tests can't use the real GitHub. Its reviewer has the token of the other forge's: cco
// knows one.
func onGitHub(t *testing.T, reviewer string) *site {
	t.Helper()
	dir := t.TempDir()
	fake := must.Get(githubfake.New(t.Context(), dir, nil))(t)
	t.Cleanup(func() {
		for _, broken := range fake.Broken() {
			t.Error(broken)
		}
		fake.Close()
	})
	s := &site{name: "github", url: fake.URL(), api: "/api/v3", dir: dir, tokens: map[string]string{"rev": reviewer},
		replies: true}
	for _, who := range users {
		if s.tokens[who] == "" {
			s.tokens[who] = newKey("ghp_")
		}
		fake.AddUser(who, s.tokens[who])
	}
	must.Do(t, fake.AddRepo(t.Context(), "ada", repoName, "ada", "rev", "rob"))
	return s
}

// call asks as one of the users, and gives the status.
func (s *site) call(t *testing.T, who, method, path string, body, out any) int {
	t.Helper()
	var content io.Reader
	if body != nil {
		data := must.Get(json.Marshal(body))(t)
		content = bytes.NewReader(data)
	}
	req := must.Get(http.NewRequestWithContext(t.Context(), method, s.url+s.api+"/repos/ada/"+repoName+"/"+path,
		content))(t)
	req.Header.Set("Authorization", "Bearer "+s.tokens[who])
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer := must.Get(io.ReadAll(resp.Body))(t)
	if out != nil {
		if err := json.Unmarshal(answer, out); err != nil {
			t.Fatalf("%s %s: %d: %s", method, path, resp.StatusCode, answer)
		}
	}
	return resp.StatusCode
}

// said is one thing that stands on a pull request.
type said struct {
	ID   int64  `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
	} `json:"user"`
	Resolver *struct {
		Login string `json:"login"`
	} `json:"resolver"` // of a line, on Gitea
}

// said is everything that stands on a pull request; a review without words of its own says nothing.
func (s *site) said(t *testing.T, pr int) []said {
	t.Helper()
	var comments, reviews, lines []said
	s.call(t, "ada", http.MethodGet, fmt.Sprintf("issues/%d/comments?per_page=100", pr), nil, &comments)
	s.call(t, "ada", http.MethodGet, fmt.Sprintf("pulls/%d/reviews?per_page=100&limit=50", pr), nil, &reviews)
	if s.replies {
		s.call(t, "ada", http.MethodGet, fmt.Sprintf("pulls/%d/comments?per_page=100", pr), nil, &lines)
	} else {
		for _, r := range reviews {
			var some []said
			s.call(t, "ada", http.MethodGet, fmt.Sprintf("pulls/%d/reviews/%d/comments", pr, r.ID), nil, &some)
			lines = append(lines, some...)
		}
	}
	var all []said
	for _, list := range [][]said{comments, reviews, lines} {
		for _, v := range list {
			if strings.TrimSpace(plain(v.Body)) != "" {
				all = append(all, v)
			}
		}
	}
	return all
}

var hidden = regexp.MustCompile(`(?s)<!--.*?-->`)

// plain is what people see of words.
func plain(body string) string { return strings.TrimSpace(hidden.ReplaceAllString(body, "")) }

// head is where a branch stands, "" if there is none.
func (s *site) head(t *testing.T, branch string) string {
	t.Helper()
	var b struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
		Object struct {
			SHA string `json:"sha"`
		} `json:"object"`
	}
	path := "branches/" + branch
	if s.replies {
		path = "git/ref/heads/" + branch
	}
	if s.call(t, "ada", http.MethodGet, path, nil, &b) != http.StatusOK {
		return ""
	}
	return b.Commit.ID + b.Object.SHA
}
