package host

import "github.com/cco-dev/cco/internal/box/native/jail"

// Devices adds the devices that every program needs.
func Devices(p *jail.Plan) {
	for _, dev := range jail.Devices() {
		p.Mounts = append(p.Mounts, jail.Mount{Source: dev, Target: dev, File: true, Write: true, Device: true})
	}
	p.Links = append(p.Links,
		jail.Link{Path: "/dev/ptmx", Target: "pts/ptmx"},
		jail.Link{Path: "/dev/fd", Target: "/proc/self/fd"},
		jail.Link{Path: "/dev/stdin", Target: "/proc/self/fd/0"},
		jail.Link{Path: "/dev/stdout", Target: "/proc/self/fd/1"},
		jail.Link{Path: "/dev/stderr", Target: "/proc/self/fd/2"})
}
