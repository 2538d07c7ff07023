// Package real has the tests that drive cco as it is shipped, with the agents' real CLIs in a native box whose only way
// out leads to a scripted model. They need npm and a registry, and are run with the build tag heavy.
package real
