// Package forge holds what pull requests have in common on all forges: requests, comments on them, marks in that
// stream, and the record that keeps us from posting anything twice.
//
// All text by others has been through Clean. It is data, and never an instruction.
package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// State is the state of a pull request.
type State string

// The states of a pull request. "" is one that was not read.
const (
	Open   State = "open"
	Merged State = "merged"
	Closed State = "closed" // without being merged
)

// Mergeable says whether a pull request could be merged. A forge computes that after a push, so at first it is unknown.
type Mergeable string

// What is known about merging.
const (
	MergeUnknown  Mergeable = "unknown"
	MergeClean    Mergeable = "clean"
	MergeConflict Mergeable = "conflict"
)

// CheckState is the state of a check.
type CheckState string

// What checks say.
const (
	ChecksPending CheckState = "pending"
	ChecksPassed  CheckState = "green"
	ChecksFailed  CheckState = "failed"
	ChecksAction  CheckState = "action" // a person has to do something on the forge first
)

// Check is one check or commit status.
type Check struct {
	Name  string     `json:"name"`
	State CheckState `json:"state"`
	URL   string     `json:"url,omitempty"`
	// Summary is what it says of itself. Whatever ran has written it.
	Summary string `json:"summary,omitempty"`
	// Job is the forge's own job behind it, whose log can be read and which can be run again; 0 if there is none.
	Job int64 `json:"job,omitempty"`
	// Run is what the job is part of, and the same after it was run again.
	Run int64 `json:"run,omitempty"`
	// Attempt is the attempt of the job that this tells of; 0 where the forge says so only when it is asked.
	Attempt int `json:"attempt,omitempty"`
}

// Branch is one end of a pull request.
type Branch struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
	Repo   string `json:"repo,omitempty"` // owner/name; a fork's differs from the request's
}

// Pull is a pull request. In a News, Mergeable and Behind were not read.
type Pull struct {
	Number    int       `json:"number"`
	URL       string    `json:"url"`
	Title     string    `json:"title"`
	Body      string    `json:"body,omitempty"`
	Author    string    `json:"author"`
	State     State     `json:"state"`
	Draft     bool      `json:"draft"`
	Mergeable Mergeable `json:"mergeable,omitempty"`
	Behind    bool      `json:"behind,omitempty"` // the forge merges only what contains its base
	Head      Branch    `json:"head"`
	Base      Branch    `json:"base"`
	Created   time.Time `json:"created_at"`
	Updated   time.Time `json:"updated_at"`
}

// Repository is what a phase must know about a repository before it starts.
type Repository struct {
	Owner         string `json:"owner"`
	Name          string `json:"name"`
	DefaultBranch string `json:"default_branch"`
	CanPush       bool   `json:"can_push"`
	// Now is the time of the answer by the forge's own clock.
	Now time.Time `json:"now,omitzero"`
}

// Access is what somebody may do in a repository. The zero value means that the forge doesn't say.
type Access string

// What people may do. Those who may write can approve a merge; others can only comment.
const (
	AccessUnknown Access = ""
	AccessWrite   Access = "write"
	AccessRead    Access = "read" // or less
)

// AccessFor is how long an answer about somebody's access is kept: a revoked right counts no longer than this.
const AccessFor = time.Minute

// AccessOf reads a forge's word for a permission.
func AccessOf(permission string) Access {
	if slices.Contains([]string{"write", "maintain", "admin", "owner"}, permission) {
		return AccessWrite
	}
	return AccessRead
}

// NewPull is a pull request to open.
type NewPull struct {
	Head, Base  string
	Title, Body string
	Draft       bool
	// Key names the intention, as in a Post. With it, a request that has ended is found only if it was opened for this
	// very key: another branch of the same name may have had one. Without it, any request of the branch is found.
	Key string
}

// Begin records that a request will be opened, and gives it the marker for its body.
func (n *NewPull) Begin(ctx context.Context, j Journal, repo string, now time.Time) (Record, error) {
	if n.Key == "" {
		return Record{}, nil
	}
	r, _, err := j.Begin(ctx, Record{Key: n.Key, Repo: repo, Kind: ofPull, Marker: NewMarker(), Created: now})
	if err != nil {
		return r, fmt.Errorf("record what is to be opened: %w", err)
	}
	r.Seal = j.Seal(r)
	n.Body = r.Mark(n.Body)
	return r, nil
}

// Threads are the threads of a request, read once, so that many can be answered with a write each.
type Threads interface {
	// Reply answers in the thread of a line comment, once for each key.
	Reply(ctx context.Context, to string, p Post) (Posted, error)
	// Resolve resolves the thread of a line comment, if it is not resolved.
	Resolve(ctx context.Context, comment string) error
}

// Post is something to post. Key names the intention: posting again with the same key gives the first post, even after
// a crash, and never posts twice.
type Post struct{ Key, Body string }

// Verdict is what a review says as a whole.
type Verdict string

// The verdicts. The zero value is none of them, so that a forgotten one is an error and not an approval.
const (
	Comments       Verdict = "comment"
	Approve        Verdict = "approve"
	RequestChanges Verdict = "request-changes"
)

// LineComment is a review's comment on a line of the new file, or of the old one.
type LineComment struct {
	Path string
	Line int
	Old  bool
	Body string
}

// Review is a review to post, by the reviewer's own identity if there is one.
type Review struct {
	Key     string
	Verdict Verdict
	Body    string
	Lines   []LineComment
	Commit  string // the head that was reviewed; "" is the present one
}

// Posted is something that is on the forge now.
type Posted struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Again bool   `json:"already_there,omitempty"` // it was there before this call
	// Fallback says what was done instead of what was asked, "" if nothing.
	Fallback string `json:"fallback,omitempty"`
}

// Watched is a pull request to poll, and how far it has been read.
type Watched struct {
	Number int
	Since  Mark
}

// News is what a poll found out about one pull request.
type News struct {
	Number   int
	Pull     Pull
	Comments []Comment
	Mark     Mark
}

// Stream is what was said on a pull request after a mark, oldest first.
type Stream struct {
	Comments []Comment `json:"comments"`
	Gone     []string  `json:"gone,omitempty"` // ids that were there at the mark, and have been deleted
	Mark     Mark      `json:"mark"`
}

// Push is a branch to push from a repository of our own.
type Push struct {
	Dir    string // the quarantine repository
	Branch string
	Commit string
	Lease  string // what the branch must be at on the forge; "" if it must not exist yet
}

// Limit is the rest of one of a forge's limits.
type Limit struct {
	Resource  string    `json:"resource"`
	Limit     int       `json:"limit"`
	Remaining int       `json:"remaining"`
	Reset     time.Time `json:"reset"`
}

// Secret is a token. It prints as asterisks, so that no message contains it by accident.
type Secret string

func (Secret) String() string { return "***" }

// GoString keeps %#v from showing it.
func (Secret) GoString() string { return "***" }

// MarshalJSON keeps it out of every file.
func (Secret) MarshalJSON() ([]byte, error) { return json.Marshal("***") }

// Reveal gives the token itself, to be put into a header and nowhere else.
func (s Secret) Reveal() string { return string(s) }

// CommentKind is the way in which something was said.
type CommentKind string

// The kinds of comments.
const (
	OnPull   CommentKind = "comment" // below the request as a whole
	OnLine   CommentKind = "line"    // on a line of the diff
	InReview CommentKind = "review"  // the words and verdict of a review
	ofPull   CommentKind = "pull"    // a request's own text; no comment, but recorded like one
)

// CommentState is the state of a line's thread, or of a review. A comment on the request has none.
type CommentState string

// The states of comments.
const (
	ThreadOpen      CommentState = "open"
	ThreadResolved  CommentState = "resolved"
	ThreadOutdated  CommentState = "outdated"
	ReviewApproved  CommentState = "approved"
	ReviewChanges   CommentState = "changes_requested"
	ReviewCommented CommentState = "commented"
	ReviewDismissed CommentState = "dismissed"
)

// Comment is one thing that was said. Body, Path and Author are cleaned.
type Comment struct {
	ID       string       `json:"id"` // stable: kind and number on the forge
	Kind     CommentKind  `json:"kind"`
	Number   int          `json:"pull"`
	Author   string       `json:"author"`
	Bot      bool         `json:"bot,omitempty"`
	Body     string       `json:"body"`
	Path     string       `json:"path"`
	Line     int          `json:"line"` // 0 if there is none, or it is gone
	State    CommentState `json:"state"`
	Commit   string       `json:"commit,omitempty"`
	Thread   string       `json:"thread,omitempty"`   // id of the first comment of its thread
	Review   string       `json:"review,omitempty"`   // id of the review that it came with
	Resolver string       `json:"resolver,omitempty"` // who resolved its thread
	// Official says that the forge counts a review, and its lines, as by somebody who may write.
	Official bool      `json:"official,omitempty"`
	Own      bool      `json:"own"`               // ours: by recorded id, or by author and marker
	Foreign  bool      `json:"foreign,omitempty"` // an account of ours wrote it, with the marker of a cco of another key
	Edited   bool      `json:"edited,omitempty"`  // it was handed out before, with other text
	Twin     string    `json:"twin,omitempty"`    // id of the post of ours whose marker it has, if that is another one
	URL      string    `json:"url"`
	Created  time.Time `json:"created_at"`
	Updated  time.Time `json:"updated_at"`
}

// ID makes a comment's id from its kind and its number on the forge.
func ID(kind CommentKind, n int64) string { return string(kind) + "-" + strconv.FormatInt(n, 10) }

// ParseID splits an id into kind and number.
func ParseID(id string) (CommentKind, int64, error) {
	kind, number, ok := strings.Cut(id, "-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n <= 0 || !slices.Contains([]CommentKind{OnPull, OnLine, InReview}, CommentKind(kind)) {
		return "", 0, &IDError{ID: id}
	}
	return CommentKind(kind), n, nil
}

// sortByTime puts comments into the order of their times.
func sortByTime(all []Comment) { slices.SortStableFunc(all, Order) }

// Order is the order of two comments: by their times.
func Order(a, b Comment) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	ka, na, _ := ParseID(a.ID)
	kb, nb, _ := ParseID(b.ID)
	return cmp.Or(cmp.Compare(rank(ka), rank(kb)), cmp.Compare(na, nb))
}

// rank puts a review before its own lines, which have the same second.
func rank(k CommentKind) int { return slices.Index([]CommentKind{OnPull, InReview, OnLine}, k) }
