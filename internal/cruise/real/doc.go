// Package real has the tests that carry whole phases with the agents' real CLIs, against a scripted model and real
// forges. They need npm and a registry, and are run with the build tag heavy.
package real
