// Package quarantine takes what comes out of a box: it copies bundles out of an agent's reach, and unpacks and examines
// them in a repository of our own, before a single ref of the user's moves.
//
// A user's repository is trusted, everything that comes out of a box is not.
package quarantine
