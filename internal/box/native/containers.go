//go:build linux

package native

import (
	_ "embed" // the settings of what runs containers
	"errors"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

//go:embed containers/containers.conf
var containersConf string

//go:embed containers/storage.conf
var storageConf string

//go:embed containers/registries.conf
var registriesConf string

//go:embed containers/policy.json
var policyJSON string

// checkNested refuses a box with containers unless the host is a machine made for boxes.
func (d *starter) checkNested(b *box.Box) error {
	if b.Spec.VM.Containers && !d.opts.Nested {
		return errors.New("only native boxes in a virtual machine may run containers")
	}
	return nil
}

// nest lets the plan's program run containers: podman works there as it is, without any flag.
func nest(p *jail.Plan) {
	p.Nested = true
	p.Dirs = append(p.Dirs, "/sys/fs/cgroup") // empty: containers see the session's
	p.Files = append(p.Files,
		text("/etc/containers/containers.conf", "%s", containersConf),
		text("/etc/containers/storage.conf", "%s", storageConf),
		text("/etc/containers/registries.conf", "%s", registriesConf),
		text("/etc/containers/policy.json", "%s", policyJSON),
	)
}
