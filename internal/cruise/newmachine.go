package cruise

// Moved is the state to go on from on a machine that does not have all commits that the phase names: what was not
// pushed went with its machine, a commit that waits for consent too. That round is begun again, and lost says so.
func (s State) Moved(has func(commit string) bool) (moved State, lost bool) {
	if p := s.Published; p != nil && p.Head != "" && !has(p.Head) {
		s.Outbox.Published, s.Outbox.Replies, s.Holding, lost = nil, nil, "", true
	}
	if s.Head.Commit != "" && s.Head.Commit != s.Head.Before && !has(s.Head.Commit) {
		s.Head.Commit, lost = s.Head.Before, true
	}
	if !lost {
		return s, false
	}
	stage := s.Stage
	if stage == StageAsk {
		stage, s.Resume, s.Question = s.Resume, "", ""
	}
	again := map[Stage]Stage{StagePublish: StageWork, StageAnswer: StageFix}[stage]
	switch {
	case again != "":
		s.Stage = again
	case s.Stage == StageAsk:
		s.Stage = StageWatch
	}
	if again == StageFix && s.Round > 0 {
		s.Round-- // it counts when it begins
	}
	s.Attempt = Attempt{}
	s.Again++ // the turns on this machine have names of their own
	s.Trouble = "what was not pushed went with the machine that had it: this round is begun again"
	return s, true
}
