package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// several lets several agents work on the plan, and the user take what one of them made.
func (r *round) several(ctx context.Context) error {
	r.push.Interactive = false
	begun, err := r.PushAll(ctx, r.s, r.cfg, r.push, r.f.agents, r.making(ctx))
	r.IO.Settle()
	if err != nil {
		return err
	}
	var ids []string
	for _, v := range begun {
		ids = append(ids, v.ID)
		r.IO.Say("session %s: %s is at work", v.ID, v.Agent)
	}
	o := session.WaitOptions{Ended: func(v store.Session) {
		r.IO.Settle()
		r.IO.Say("session %s: %s is %s", v.ID, v.Agent, stateText(v))
	}}
	if _, err := r.s.Looking().Wait(ctx, ids, o); err != nil {
		words := strings.Join(ids, " ")
		r.IO.Settle()
		r.IO.Say("the agents go on: `cco box wait %s` waits for them, `cco box compare %s` then shows what they made, `cco "+
			"box kill ID` ends one", words, words)
		return err
	}
	if r.cfg.Notify.Bell {
		r.IO.Bell()
	}
	list, err := r.compare(ctx, r.s, ids, "", r.pull)
	switch {
	case cut(err):
		return err
	case r.f.asJSON:
		if err := r.IO.JSON(some(list)); err != nil {
			return err
		}
	default:
		r.sideBySide(list, r.cfg.Pull.Policy)
	}
	if err != nil {
		return err
	}
	if !r.asking {
		return &notTakenError{"because one has to be chosen", "cco box compare " + strings.Join(ids, " ") + " --take ID"}
	}
	return r.choose(ctx, ids)
}

// choose asks which session is to be taken, and does with it what the user wants.
func (r *round) choose(ctx context.Context, ids []string) error {
	for {
		answer, err := r.ask(ctx, "Which one? Its id, or a number from 1; d and that shows it; nothing leaves them all:")
		if answer = strings.TrimSpace(answer); err != nil || answer == "" {
			r.IO.Say("all are kept: `cco box compare %s --take ID` takes one", strings.Join(ids, " "))
			return err
		}
		answer, look := strings.CutPrefix(answer, "d ")
		id, err := r.oneOf(ctx, ids, answer)
		if err != nil {
			r.IO.Fail(err)
			continue
		}
		now, err := r.s.Get(ctx, id)
		if err != nil {
			return err
		}
		if look {
			if err := r.look(ctx, now, r.pull); err != nil {
				return err
			}
			continue
		}
		again, next, err := r.settle(ctx, now)
		if err == nil && again {
			err = r.follow(ctx, next, r.showing())
		}
		if err != nil {
			return err
		}
		if now, err = r.s.Get(ctx, id); err != nil || now.State == store.Pulled {
			if err == nil {
				err = r.aside(ctx, r.s, slices.DeleteFunc(slices.Clone(ids), func(v string) bool { return v == id }), r.pull)
			}
			return err
		}
		if now.Live() {
			return nil
		}
	}
}

// oneOf finds the session that an answer means.
func (r *round) oneOf(ctx context.Context, ids []string, answer string) (string, error) {
	if n, err := strconv.Atoi(answer); err == nil && n >= 1 && n <= len(ids) {
		return ids[n-1], nil
	}
	id, err := r.s.Resolve(ctx, answer)
	if err == nil && !slices.Contains(ids, id) {
		err = app.Usagef("%s is none of them", answer)
	}
	return id, err
}
