package container

import "github.com/cco-dev/cco/internal/box"

// Backend describes boxes of containers.
func Backend() box.Backend {
	return box.Backend{
		Name: "container", Help: "podman or docker, hardened as far as the engine can", Strength: 2,
		Settings: []box.Setting{
			{Name: "engine", Kind: box.Word, Words: []string{"podman", "docker"}, Env: "CCO_ENGINE", Flag: "engine",
				Help: "podman or docker (default: the installed one, podman first)"},
			{Name: "runtime", Flag: "runtime", Help: "the engine's runtime, such as runc or crun"},
			{Name: "image", Flag: "image", Help: "an image's name", Instead: "image_tar"},
			{Name: "image_tar", Kind: box.HostFile, Flag: "image-tar", Instead: "image",
				Help: "take the image from this tar, where no registry can be reached"},
			{Name: "cpus", Kind: box.Count, Flag: "cpus", Help: "how many"},
		},
		Fill: func(own box.Values, s *box.Spec) {
			s.Container = box.Container{
				Engine: box.Value[string](own, "engine"), Runtime: box.Value[string](own, "runtime"),
				Image: box.Value[string](own, "image"), ImageTar: box.Value[string](own, "image_tar"),
				CPUs: float64(box.Value[int](own, "cpus")),
			}
		},
	}
}
