// Package git runs the host's git, hardened, in a user's repository: it reads it, makes bundles of it, moves its refs
// and pushes. What comes out of a box passes git/quarantine first.
//
// Object ids are full lower-case hex
// strings, branches are names without refs/heads/, paths inside a repository use slashes.
package git
