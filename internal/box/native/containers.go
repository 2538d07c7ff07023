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

// checkNested refuses a box with containers where the host is not a machine made for boxes.
func (d *starter) checkNested(b *box.Box) error {
	if b.Spec.VM.Containers && !d.opts.Nested {
		return errors.New("containers in a native box: only a virtual machine's may have them")
	}
	return nil
}

// nest makes a plan one whose program can run containers by itself: podman works there as it is, without any flag.
func nest(p *jail.Plan) {
	p.Nested = true
	p.Dirs = append(p.Dirs, "/sys/fs/cgroup") // empty: containers are shown the session's
	p.Files = append(p.Files,
		text("/etc/containers/containers.conf", "%s", containersConf),
		text("/etc/containers/storage.conf", "%s", storageConf),
		text("/etc/containers/registries.conf", "%s", registriesConf),
		text("/etc/containers/policy.json", "%s", policyJSON),
	)
}
