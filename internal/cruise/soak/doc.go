// Package soak has the tests that carry phases through many broken pipelines, which a runner really carries out. They
// take minutes, and are run with the build tag heavy: a sample with the heavy tests, all with make soak.
package soak
