// Package forgetest is the suite that every forge passes, against a real server or one that is held to the real one's
// word: what a pull request needs, and what happens when the network and the forge misbehave.
package forgetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Forge is everything that the suite asks of a forge.
type Forge interface {
	Repository(context.Context) (forge.Repository, error)
	Us(context.Context) ([]string, error)
	Find(ctx context.Context, branch string) (forge.Pull, error)
	Open(context.Context, forge.NewPull) (p forge.Pull, existed bool, err error)
	Pull(ctx context.Context, number int) (forge.Pull, error)
	Merge(ctx context.Context, number int, commit string) error
	Branch(ctx context.Context, branch string) (commit string, err error)
	DeleteBranch(ctx context.Context, branch, commit string) error
	Said(ctx context.Context, number int, since forge.Mark) (forge.Stream, error)
	Poll(context.Context, []forge.Watched) ([]forge.News, error)
	Comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error)
	Update(ctx context.Context, number int, p forge.Post) (forge.Posted, error)
	Review(ctx context.Context, number int, r forge.Review) (forge.Posted, error)
	Threads(ctx context.Context, number int) (forge.Threads, error)
	Push(context.Context, forge.Push) error
	Access(ctx context.Context, login string) (forge.Access, error)
	Contains(ctx context.Context, number int, commit string) (bool, error)
	Pushers(ctx context.Context, number int, branch, from, to string) ([]forge.Pusher, error)
	DeployKeys(ctx context.Context) (forge.DeployKeys, error)
	Ready(ctx context.Context, number int) error
	Checks(ctx context.Context, numbers []int) (map[int]forge.Checked, error)
	Attempt(ctx context.Context, job int64) (int, error)
	Rerun(ctx context.Context, job int64, attempt int) error
	JobLog(ctx context.Context, job int64) (string, error)
	Fetch(ctx context.Context, dir, branch string) (commit string, err error)
	Withdraw(ctx context.Context, c forge.Comment) (bool, error)
}

// The people of the suite. Ada and Rob may write to the repositories, Eve may only comment, Acme owns them.
const (
	Acme = "acme"
	Ada  = "ada"
	Rob  = "rob"
	Eve  = "eve"
)

// As is who is at work, and with what.
type As struct {
	Who      string
	Reviewer string // "" for none
	Journal  forge.Journal
	Clock    wire.Clock
	Timeout  time.Duration
	MaxWait  time.Duration
}

// Server is a forge that the suite can be run against.
type Server struct {
	URL string
	// NewRepo makes an empty repository.
	NewRepo func(t *testing.T) (owner, name string)
	// Connect makes the forge under test.
	Connect func(t *testing.T, r forge.Remote, as As) Forge
	Token   func(who string) string
	// Change edits a comment as its author; "" deletes it.
	Change func(t *testing.T, r forge.Remote, who, id, body string)
	// Hook has events of a repository posted to url.
	Hook func(t *testing.T, r forge.Remote, url, secret string)
	// Reader makes somebody a collaborator who may only read.
	Reader func(t *testing.T, r forge.Remote, who string)
	// Retarget has a request go into another branch.
	Retarget func(t *testing.T, r forge.Remote, number int, base string)
	// Strict has a branch take only requests that contain it.
	Strict func(t *testing.T, r forge.Remote, branch string)
	// DeployKey makes a deploy key, as the owner does, and gives what has to stand after git to push with it, but for the
	// branch.
	DeployKey func(t *testing.T, r forge.Remote, readOnly bool) (push []string)
	// Dismiss takes back a review, as somebody who may.
	Dismiss func(t *testing.T, r forge.Remote, number int, review string)
	// Report reports a check on a commit, and Require has the branch main require some.
	Report  func(t *testing.T, r forge.Remote, commit, name string, state forge.CheckState, summary string)
	Require func(t *testing.T, r forge.Remote, names []string)
	// Runner has the forge's own runner carry out jobs of every commit that is pushed from then on.
	Runner func(t *testing.T, r forge.Remote, jobs []string, run func(Job) (ok bool, log string))
	// SaysAccess is set where the forge tells everyone who may write what others may do.
	SaysAccess bool
}

// place is one repository, with a proxy before its server that can misbehave.
type place struct {
	*testing.T
	server  Server
	proxy   *proxy
	remote  forge.Remote
	journal *forge.Memory
	clock   *Clock
	work    string // a clone to commit in
}

// Clock runs as real time does, and jumps when somebody sleeps.
type Clock struct {
	mu   sync.Mutex
	skip time.Duration
	// settle waits for what a server is at work on, where that is known.
	settle func(context.Context) error
}

// long is a sleep in which a server is done with everything that it was asked. The moment that such a sleep takes here
// is not enough for that on a slow machine.
const long = 5 * time.Second

// Now is real time and all the sleep so far.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.skip)
}

// slept is all the sleep so far.
func (c *Clock) slept() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skip
}

// Sleep takes a moment, and lets the clock jump. The moment lets a slow server get on.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(min(d/20, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	if c.settle != nil && d >= long {
		if err := c.settle(ctx); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skip += d
	return nil
}

// Wire is the clock as a forge takes it.
func (c *Clock) Wire() wire.Clock {
	return wire.Clock{Now: c.Now, Sleep: c.Sleep, Chance: rand.Float64}
}

func newPlace(t *testing.T, s Server) *place {
	t.Helper()
	owner, name := s.NewRepo(t)
	p := &place{T: t, server: s, proxy: newProxy(t, s.URL), journal: &forge.Memory{}, clock: &Clock{}}
	p.clock.settle = p.proxy.settle
	p.remote = forge.Remote{Scheme: "http", Host: strings.TrimPrefix(p.proxy.URL(), "http://"), Owner: owner, Name: name}
	p.work = filepath.Join(t.TempDir(), "work")
	p.git("init", "-q", "-b", "main", p.work)
	p.commit("main", "first", map[string]string{"code.txt": lines(1, 30), "other.txt": "one\n"})
	p.push("main")
	return p
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// git runs git in the clone, as somebody who works on the repository.
func (p *place) git(args ...string) string {
	p.Helper()
	dir := p.work
	if args[0] == "init" {
		dir = filepath.Dir(p.work)
	}
	out, err := proc.Output(p.Context(), proc.Cmd{Argv: append([]string{"git"}, args...), Dir: dir,
		Env: append(os.Environ(),
			"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada",
			"GIT_COMMITTER_EMAIL=ada@example.org")})
	if err != nil {
		p.Fatalf("git %v: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// commit commits files on a branch, which is made if it isn't there.
func (p *place) commit(branch, message string, files map[string]string) string {
	p.Helper()
	if p.git("branch", "--list", branch) != "" || p.git("symbolic-ref", "--short", "HEAD") == branch {
		p.git("symbolic-ref", "HEAD", "refs/heads/"+branch)
	} else {
		p.git("branch", "-q", branch)
		p.git("symbolic-ref", "HEAD", "refs/heads/"+branch)
	}
	for name, text := range files {
		at := filepath.Join(p.work, name)
		must.Do(p, os.MkdirAll(filepath.Dir(at), 0o755))
		must.Do(p, os.WriteFile(at, []byte(text), 0o644))
	}
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", message)
	return p.git("rev-parse", "HEAD")
}

// push pushes as a person would, with force where it is needed.
func (p *place) push(branch string) { p.pushAs(Ada, branch) }

func (p *place) pushAs(who, branch string) {
	p.Helper()
	p.git("push", "-q", "--force", p.address(who), branch)
}

func (p *place) address(who string) string {
	return fmt.Sprintf("http://%s:%s@%s/%s/%s.git", who, p.server.Token(who), p.remote.Host, p.remote.Owner, p.remote.Name)
}

func (p *place) as(who, reviewer string) Forge {
	p.Helper()
	journal := forge.Journal(p.journal)
	if who != Ada {
		journal = &forge.Memory{} // others have records of their own
	}
	return p.connect(As{Who: who, Reviewer: reviewer, Journal: journal})
}

func (p *place) connect(as As) Forge {
	p.Helper()
	as.Clock = p.clock.Wire()
	return p.server.Connect(p.T, p.remote, as)
}

// open makes a branch that changes the middle of code.txt, and a pull request of it by Ada.
func (p *place) open(f Forge, branch string) forge.Pull {
	p.Helper()
	p.atMain()
	p.commit(branch, "change for "+branch, map[string]string{"code.txt": lines(1, 10) + "new a\nnew b\nnew c\n" +
		lines(11, 30)})
	p.push(branch)
	pull, _, err := f.Open(p.Context(), forge.NewPull{Head: branch, Base: "main", Title: "Change " + branch,
		Body: "Please look."})
	p.must(err)
	return pull
}

// await asks again and again, until it is so. Only a failure waits long: nobody knows how long a real server on a slow
// machine takes for what it does after its answer.
func (p *place) await(is func() bool) bool {
	p.Helper()
	for end := time.Now().Add(5 * time.Minute); !is(); {
		if time.Now().After(end) {
			return false
		}
		p.must(p.clock.Sleep(p.Context(), 4*time.Second))
	}
	return true
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// post comments as somebody.
func (p *place) post(f Forge, number int, words string) forge.Posted {
	p.Helper()
	v, err := f.Comment(p.Context(), number, forge.Post{Key: fmt.Sprintf("%d %.100s", number, words), Body: words})
	p.must(err)
	return v
}

// review reviews a request as somebody.
func (p *place) review(f Forge, number int, v forge.Verdict, words string, on ...forge.LineComment) forge.Posted {
	p.Helper()
	posted, err := f.Review(p.Context(), number, forge.Review{Key: string(v) + words, Verdict: v, Body: words, Lines: on})
	p.must(err)
	return posted
}

// at is a comment on a line of code.txt.
func at(line int, words string) forge.LineComment {
	return forge.LineComment{Path: "code.txt", Line: line, Body: words}
}

// find gives the comment with these words.
func (p *place) find(f Forge, number int, body string) forge.Comment {
	p.Helper()
	for _, c := range p.said(f, number, "").Comments {
		if c.Body == body {
			return c
		}
	}
	p.Fatalf("nobody said %q", body)
	return forge.Comment{}
}

// is says whether an error is one of a kind.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// atMain has the clone at its main branch, whatever was there.
func (p *place) atMain() {
	p.Helper()
	p.git("symbolic-ref", "HEAD", "refs/heads/main")
	p.git("reset", "-q", "--hard")
}

// keepsCurrent changes a comment of ours, which stays ours and one.
func keepsCurrent(p *place) {
	f := p.as(Ada, "")
	pull := p.open(f, "topic")
	for _, words := range []string{"first", "first", "second"} {
		_, err := f.Update(p.Context(), pull.Number, forge.Post{Key: "kept", Body: words})
		p.must(err)
	}
	said := p.said(f, pull.Number, "").Comments
	if len(said) != 1 || words(said[0]) != "second" {
		p.Errorf("said %+v", said)
	}
}

// said reads all that was said. The markers of others, who are made to speak by the same code as we, are left out.
func (p *place) said(f Forge, number int, since forge.Mark) forge.Stream {
	p.Helper()
	s, err := f.Said(p.Context(), number, since)
	p.must(err)
	for i, c := range s.Comments {
		s.Comments[i].Body = words(c)
	}
	return s
}

func words(c forge.Comment) string {
	return regexp.MustCompile(`\n*\[hidden: cco:[0-9a-f]{32}(\.[0-9a-f]{64})?\]$`).ReplaceAllString(c.Body, "")
}

// bodies are the words of comments, for comparing.
func bodies(all []forge.Comment) []string {
	out := []string{}
	for _, c := range all {
		out = append(out, words(c))
	}
	return out
}

// Run runs the suite.
func Run(t *testing.T, s Server) {
	for _, test := range []struct {
		name string
		do   func(*place)
	}{
		{"OpensOnePullRequestForABranch", opensOne},
		{"OpensAnewForANameThatWasUsedBefore", opensAnew},
		{"ReadsStateAndMerges", readsState},
		{"ReadsChecksAndWhatIsRequired", readsChecks},
		{"RunsAFailedJobAgainAndReadsItsLog", runsJobsAgain},
		{"ReadsOneOrderedStream", readsStream},
		{"HandsOutEditsAgainAndTellsOfDeletions", handsOutEdits},
		{"KnowsItsOwnWordsAndNoCopies", knowsOwn},
		{"KnowsTheWordsOfItsUsersOtherPrograms", knowsOthers},
		{"AnswersManyWithOneReading", answersMany},
		{"AnswersWhereALineIsNow", answersMoved},
		{"SaysAThingOnce", saysOnce},
		{"WithdrawsWhatWasSaidTwice", withdrawsTwins},
		{"FindsWhatItSaidBeforeACrash", findsAfterCrash},
		{"MovesLinesOutsideTheDiffIntoTheBody", movesLines},
		{"ApprovesWithASecondIdentityAlone", approves},
		{"RepliesAndResolves", replies},
		{"KeepsOneCommentCurrent", keepsCurrent},
		{"PushesWithALeaseAndNeverByForce", pushes},
		{"PollsEveryRequestOfARepository", polls},
		{"PollsWithMarksThatWereNotItsLast", pollsOldMarks},
		{"OutdatesLinesUnderAForcePush", outdates},
		{"CleansWordsOfOthers", cleans},
		{"ReadsAllPages", readsPages},
		{"ReadsPagesThatChange", readsChangingPages},
		{"TakesWebhooks", takesHooks},
		{"SaysWhoMayWrite", saysAccess},
		{"KnowsWhichVerdictsStand", knowsVerdicts},
		{"NoticesAnotherBase", noticesBase},
		{"JudgesTheCommitThatWasReviewed", judgesCommit},
		{"SaysThatALineCommentWasDeleted", saysDeleted},
		{"SaysWhoPushed", saysWhoPushed},
		{"SaysWhichPushesMayBeADeployKeys", saysWhatMayBeAKeys},
		{"MarksADraftAsReady", marksReady},
		{"FetchesABranch", fetches},
		{"SaysWhyItCanNotMerge", saysWhyItCanNotMerge},
		{"SaysWhatToDo", saysWhatToDo},
		{"SurvivesFaultsOfWrites", survivesWrites},
		{"SurvivesFaultsOfReads", survivesReads},
		{"ObeysLimits", obeysLimits},
		{"NeverShowsTheToken", neverShowsToken},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // each has a repository of its own, and mostly waits
			test.do(newPlace(t, s))
		})
	}
}
