//go:build linux

package native

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/boxtest"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/must"
)

// nested is a running box whose sessions can run containers.
func nested(t *testing.T) (box.Driver, *box.Box) {
	t.Helper()
	b := testBox(t)
	b.Spec.VM.Containers = true
	return madeBy(t, Options{Tool: boxtest.Tool(), Path: os.Getenv("PATH"), Nested: true, Apart: os.Getuid() == 0}, b)
}

// nesting does what a container engine does, and tries what it must not be able to do.
const nesting = `
try() { what=$1; shift; if "$@" >/dev/null 2>&1; then echo "$what"; fi; }
try space    unshare -Ur true
try mount    unshare -Urm mount -t tmpfs none /mnt
try proc     unshare -Urmpf mount -t proc none /proc
try name     unshare -Uru hostname other
try overlay  unshare -Urm sh -c 'cd && mkdir -p l u w m &&
	mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w,userxattr m && touch m/x'
try network  unshare -Urn true
try cgroup   unshare -UrC true
try clock    unshare -UrT true
try direct   mount -t tmpfs none /mnt
try ipforward unshare -Urm sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
try core     unshare -Urm sh -c 'echo x > /proc/sys/kernel/core_pattern'
try writable unshare -Urm mount -o remount,bind,rw /usr
try uncover  unshare -Urm umount /usr
try device   unshare -Ur mknod node c 1 1
grep -c '^Cap[A-Z][a-z]*:	0*$' /proc/self/status; grep NoNewPrivs /proc/self/status`

// Guards against sessions that can't run containers in the box made for them, and against others that can.
func TestOnlyNestedSessionsMakeNamespaces(t *testing.T) {
	const always = "5\nNoNewPrivs:\t1\n" // no capability, none to gain
	for name, c := range map[string]struct {
		make func(*testing.T) (box.Driver, *box.Box)
		want string
	}{
		"plain":  {created, always},
		"nested": {nested, "space\nmount\nproc\nname\noverlay\n" + always},
	} {
		t.Run(name, func(t *testing.T) {
			d, b := c.make(t)
			must.Get(d.Prepare(t.Context(), b, "00000001"))(t)
			if out, err := shell(t, d, b, box.Exec{Session: "00000001", Argv: []string{"sh", "-c", nesting}}); err != nil ||
				out != c.want {
				t.Errorf("%v: got\n%swant\n%s", err, out, c.want)
			}
		})
	}
}

func TestNestedSessionsHaveSettingsForPodman(t *testing.T) {
	d, b := nested(t)
	out, err := shell(t, d, b, box.Exec{Argv: []string{"sh", "-c",
		"cd /etc/containers && ls && grep -h 'netns\\|ignore_chown' *; touch x || echo kept"}})
	if want := "containers.conf\npolicy.json\nregistries.conf\nstorage.conf\nnetns = \"host\"\nignore_chown_errors = " +
		"\"true\"\nkept\n"; err != nil || out != want {
		t.Errorf("%v: %s", err, out)
	}
	layers := must.Get(d.Layers(t.Context(), b))(t)
	for _, l := range layers {
		if l.Active == (l.Name == "landlock") || l.Name == "seccomp" && strings.Contains(l.Detail, "mounts") {
			t.Errorf("layer %+v", l)
		}
	}
	for _, name := range probe.InNamespaces() {
		if slices.Contains(d.Promises(b), name) {
			t.Errorf("%s is promised", name)
		}
	}
}

// Guards against containers on a host where only the kernel protects the user's files.
func TestHostsRefuseNestedBoxes(t *testing.T) {
	d, b := created(t)
	b.Spec.VM.Containers = true
	for what, err := range map[string]error{
		"create": d.Create(t.Context(), b, nil),
		"start":  d.Start(t.Context(), b, nil),
		"run":    d.Run(t.Context(), b, box.Exec{Argv: []string{"true"}}),
		"setup": d.Provision(t.Context(), &box.Box{Name: b.Name, Dir: b.Dir, Exchange: b.Exchange,
			Spec: box.Spec{Setup: []string{"true"}, VM: b.Spec.VM}}, nil, nil),
	} {
		if err == nil || !strings.Contains(err.Error(), "only native boxes in a virtual machine") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := d.Layers(t.Context(), b); err == nil {
		t.Error("it has layers")
	}
}
