// Command cco-cruise is one that kills itself with SIGKILL at the boundaries of steps, each time at a different
// one. CRASH_EVERY says at how many (1 is all, 0 is none), CRASH_SEED which ones, CRASH_LOG where to record each kill,
// CRASH_ONLY around which steps (all if it is empty), CRASH_MAX how many kills there may be, and CRASH_LIFE after how
// many steps a phase begins a new life.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cli/cruising"
	"github.com/cco-dev/cco/internal/cruise"
)

func main() {
	os.Exit(cli.Main(func(a *app.App) []*cobra.Command {
		p := &phases.Phases{App: a, Quiet: 300 * time.Millisecond, Life: number("CRASH_LIFE")}
		if log := os.Getenv("CRASH_LOG"); log != "" {
			p.Wrap = func(s cruise.Steps) cruise.Steps {
				return &killer{Steps: s, log: log, only: os.Getenv("CRASH_ONLY"), every: number("CRASH_EVERY"),
					most: number("CRASH_MAX"),
					seed: os.Getenv("CRASH_SEED")}
			}
		}
		return cruising.For(p)
	}))
}

func number(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name)) // an unset one is zero
	return n
}

// killer ends its process around steps.
type killer struct {
	cruise.Steps
	log, only   string
	every, most int
	seed        string
	mu          sync.Mutex
}

// at is one boundary. A repeated step has the same input, so its boundary is recognised and does not kill twice.
func (k *killer) at(when, step string, in any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	data, err := json.Marshal(in)
	if err != nil {
		return
	}
	sum := sha256.Sum256(append([]byte(when+step), data...))
	key := when + " " + step + " " + hex.EncodeToString(sum[:6])
	chosen := sha256.Sum256([]byte(k.seed + key))
	if k.only != "" && !slices.Contains(strings.Split(k.only, ","), step) {
		return
	}
	if k.every == 0 || binary.BigEndian.Uint32(chosen[:])%uint32(k.every) != 0 { // it is small
		return
	}
	before, _ := os.ReadFile(k.log) // there is none at first
	if strings.Contains(string(before), key+"\n") || strings.Count(string(before), "\n") >= k.most {
		return
	}
	f, err := os.OpenFile(k.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	if _, err := f.WriteString(key + "\n"); err != nil {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal ends it here
}

func around[I, O any](k *killer, ctx context.Context, step string, in I,
	do func(context.Context, I) (O, error)) (O, error) {
	k.at("before", step, in)
	out, err := do(ctx, in)
	k.at("after", step, in)
	return out, err
}

func alone[I any](k *killer, ctx context.Context, step string, in I, do func(context.Context, I) error) error {
	_, err := around(k, ctx, step, in, func(ctx context.Context, in I) (struct{}, error) {
		return struct{}{},
			do(ctx, in)
	})
	return err
}

func (k *killer) Metadata(ctx context.Context, in cruise.MetadataIn) (cruise.Metadata, error) {
	return around(k, ctx, cruise.StepMetadata, in, k.Steps.Metadata)
}

func (k *killer) Workspace(ctx context.Context, in cruise.WorkspaceIn) (cruise.Workspace, error) {
	return around(k, ctx, cruise.StepWorkspace, in, k.Steps.Workspace)
}

func (k *killer) Work(ctx context.Context, in cruise.Job) (cruise.Report, error) {
	return around(k, ctx, cruise.StepWork, in, k.Steps.Work)
}

func (k *killer) Publish(ctx context.Context, in cruise.PublishIn) (cruise.Published, error) {
	return around(k, ctx, cruise.StepPublish, in, k.Steps.Publish)
}

func (k *killer) Push(ctx context.Context, in cruise.PushIn) (cruise.Pushed, error) {
	return around(k, ctx, cruise.StepPush, in, k.Steps.Push)
}

func (k *killer) PullRequest(ctx context.Context, in cruise.PullRequestIn) (cruise.PullRequest, error) {
	return around(k, ctx, cruise.StepPullRequest, in, k.Steps.PullRequest)
}

func (k *killer) PostReview(ctx context.Context, in cruise.PostReviewIn) ([]cruise.Posted, error) {
	return around(k, ctx, cruise.StepPostReview, in, k.Steps.PostReview)
}

func (k *killer) Look(ctx context.Context, in cruise.LookIn) (cruise.News, error) {
	return around(k, ctx, cruise.StepLook, in, k.Steps.Look)
}

func (k *killer) Answer(ctx context.Context, in cruise.AnswerIn) error {
	return alone(k, ctx, cruise.StepAnswer, in, k.Steps.Answer)
}

func (k *killer) Say(ctx context.Context, in cruise.SayIn) error {
	return alone(k, ctx, cruise.StepSay, in, k.Steps.Say)
}

func (k *killer) Close(ctx context.Context, in cruise.CloseIn) error {
	return alone(k, ctx, cruise.StepClose, in, k.Steps.Close)
}

func (k *killer) Hands(ctx context.Context, in cruise.HandsIn) (cruise.Hands, error) {
	return around(k, ctx, cruise.StepHands, in, k.Steps.Hands)
}

func (k *killer) Take(ctx context.Context, in cruise.TakeIn) (cruise.Took, error) {
	return around(k, ctx, cruise.StepTake, in, k.Steps.Take)
}

func (k *killer) Target(ctx context.Context, in cruise.TargetIn) (cruise.Target, error) {
	return around(k, ctx, cruise.StepTarget, in, k.Steps.Target)
}

func (k *killer) Lend(ctx context.Context, in cruise.LendIn) error {
	return alone(k, ctx, cruise.StepLend, in, k.Steps.Lend)
}

func (k *killer) Ready(ctx context.Context, in cruise.ReadyIn) error {
	return alone(k, ctx, cruise.StepReady, in, k.Steps.Ready)
}

func (k *killer) Merge(ctx context.Context, in cruise.MergeIn) (cruise.Merged, error) {
	return around(k, ctx, cruise.StepMerge, in, k.Steps.Merge)
}

func (k *killer) Verdict(ctx context.Context, in cruise.VerdictIn) error {
	return alone(k, ctx, cruise.StepVerdict, in, k.Steps.Verdict)
}

func (k *killer) Check(ctx context.Context, in cruise.CheckIn) ([]string, error) {
	return around(k, ctx, cruise.StepCheck, in, k.Steps.Check)
}

func (k *killer) Base(ctx context.Context, in cruise.BaseIn) (string, error) {
	return around(k, ctx, cruise.StepBase, in, k.Steps.Base)
}

func (k *killer) Save(ctx context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	return around(k, ctx, cruise.StepSave, in, k.Steps.Save)
}
