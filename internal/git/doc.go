// Package git runs the host's git, hardened: it makes bundles of a user's repository, and takes hostile bundles back
// through a quarantine repository before a single ref moves.
//
// A user's repository is trusted, everything that comes out of a box is not. Object ids are full lower-case hex
// strings, branches are names without refs/heads/, paths inside a repository use slashes.
package git
