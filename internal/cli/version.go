package cli

import "runtime/debug"

// release is set by release builds with -ldflags.
var release = ""

// Version is the release, or what the Go toolchain knows of the build.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
