// Package aside keeps a private repository beside a worktree of the user's, for an agent in a cage: git works there and
// writes nothing of the user's, and what the agent has committed is brought over from there.
//
// No git outside the cage ever opens the private repository. What is in it was written by an agent.
package aside
