package lima

import "github.com/cco-dev/cco/internal/box"

// containers is the setting with which sessions can run containers.
const containers = "provision.containers"

// Backend describes boxes in Lima's virtual machines.
func Backend() box.Backend {
	return box.Backend{
		Name: "lima", Help: "a Lima virtual machine (default on macOS)", Strength: 4, System: "darwin", OwnGuard: true,
		Settings: []box.Setting{
			{Name: "image", Flag: "image", Help: "a disk image's path"},
			{Name: "cpus", Kind: box.Count, Flag: "cpus", Help: "how many"},
			{Name: "memory", Kind: box.Size, Help: "memory of the machine"}, // --memory is for every box
			{Name: "disk", Kind: box.Size, Flag: "disk", Help: "such as 100GiB"},
			{Name: "template", Kind: box.HostFile, Flag: "template",
				Help: "a template of your own in this `FILE`; cco box template prints cco's"},
			{Name: "provision.packages", Kind: box.Packages, Help: "packages beside cco's own"},
			{Name: "provision.files", Kind: box.Copies, Help: "files of yours, by their path in the machine"},
			{Name: "provision.scripts", Kind: box.HostFiles, Help: "scripts that run as root at every start"},
			{Name: containers, Kind: box.Switch, Flag: "containers",
				Help: "sessions can run containers of their own, which takes layers of their isolation",
				Refusal: "sessions of a %s box can't run containers: that is for lima boxes alone, where a " +
					"kernel of its own stands before the host"},
		},
		Fill: func(own box.Values, s *box.Spec) {
			s.VM = box.VM{
				CPUs: box.Value[int](own, "cpus"), Memory: box.Value[int64](own, "memory"),
				Disk: box.Value[int64](own, "disk"), Image: box.Value[string](own, "image"),
				Template: box.Value[string](own, "template"), Packages: box.Value[[]string](own, "provision.packages"),
				Files: box.Value[[]box.VMFile](own, "provision.files"), Containers: box.Value[bool](own, containers),
				Scripts: box.Value[[]string](own, "provision.scripts"),
			}
		},
	}
}
