package cli

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
)

// machineFlags configure containers and virtual machines.
type machineFlags struct {
	engine, runtime, image, imageTar, template, memory, disk string
	cpus                                                     int
	containers                                               bool
}

func (m *machineFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.engine, "engine", "", "of containers: podman or docker (default: the installed one, podman first)")
	f.StringVar(&m.runtime, "runtime", "", "the engine's runtime, such as runc or crun")
	f.StringVar(&m.image, "image", "", "of containers: an image's name; of lima: a disk image's path")
	f.StringVar(&m.imageTar, "image-tar", "",
		"of containers: take the image from this tar, where no registry can be reached")
	f.IntVar(&m.cpus, "cpus", 0, "how many, for containers and lima")
	f.StringVar(&m.memory, "memory", "", "such as 4GiB: of the virtual machine, or the limit of what runs in another box")
	f.StringVar(&m.disk, "disk", "", "of lima, such as 100GiB")
	f.BoolVar(&m.containers, "containers", false,
		"of lima: sessions can run containers of their own, which takes layers of their isolation")
	f.StringVar(&m.template, "template", "",
		"of lima: a template of your own in this `FILE`; cco box template prints cco's")
}

// apply lets flags override the settings. It refuses a flag that the backend does not use.
func (m *machineFlags) apply(c *cobra.Command, b *config.Box, backend string) error {
	if err := app.CheckFlags(backend, c.Flags().Changed); err != nil {
		return err
	}
	for _, s := range []struct {
		to   *string
		from string
	}{{&b.Engine, m.engine}, {&b.Runtime, m.runtime}, {&b.Image, m.image}, {&b.ImageTar, m.imageTar},
		{&b.Template, m.template}} {
		if s.from != "" {
			*s.to = s.from
		}
	}
	if m.image != "" {
		b.ImageTar = m.imageTar
	} else if m.imageTar != "" {
		b.Image = ""
	}
	b.Provision.Containers = b.Provision.Containers || m.containers
	if m.cpus < 0 {
		return app.Usagef("--cpus %d: not a number of cpus", m.cpus)
	}
	if m.cpus > 0 {
		b.CPUs = m.cpus
	}
	for _, s := range []struct {
		name, text string
		to         *int64
	}{{"--memory", m.memory, app.Memory(backend, b)}, {"--disk", m.disk, &b.Disk}} {
		if s.text == "" {
			continue
		}
		n, err := config.ParseSize(s.text)
		if err != nil {
			return app.Usagef("%s: %w", s.name, err)
		}
		*s.to = n
	}
	return nil
}
