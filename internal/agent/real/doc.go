// Package real has the tests that drive cco as it is shipped, with the agents' real CLIs in boxes whose only way out
// leads to a scripted model. They need npm and a registry, podman and the image of scripts/box-root, and are run with
// the build tag heavy.
package real
