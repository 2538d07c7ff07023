//go:build lima

package lima_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/verify"
	"github.com/cco-dev/cco/internal/must"
)

// containersPlan builds an image and runs it with everything that a session can give a container: its files, its
// processes, every capability. There it looks for another session, whose id replaces the mark.
const containersPlan = `## Task 1: Run containers

~~~sh
exec >containers.txt 2>podman.log
mkdir -p ~/image/bin && cp /usr/bin/busybox ~/image/bin/
for name in sh cat env grep id ls nc; do ln -s busybox ~/image/bin/$name; done
tar -C ~/image -c . | podman import -q - small >/dev/null
printf 'FROM small\nRUN id > /who\n' | podman build -q -t built -f - ~/image >/dev/null
podman run --rm --privileged -v /:/host built sh -c '
	cat /who
	env | grep -c -i "^https\?_proxy=http://.*127.0.0.1:"
	cat /host/exchange/OTHER/secret /host/workspace/OTHER/secret
	ls /host/exchange /host/workspace
	grep -l "marker-of[-]OTHER" /host/proc/[0-9]*/cmdline
	echo | nc -w 3 127.0.0.1 7777
	echo | nc -w 3 192.168.5.2 22
	echo done'
~~~
`

// containers runs them in a session of the machine while another session exists.
func containers(w *world) {
	if out := w.must("box", "status", machine); !strings.Contains(out, "off, for containers") {
		w.Error(out)
	}
	d, b, other := driver(), w.box(), "aaaa0003"
	must.Get(d.Prepare(w.Context(), b, other))(w)
	ctx, end := context.WithCancel(w.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer end()
	running.Go(func() {
		const script = `echo secret > secret; echo secret > /exchange/$CCO_SESSION/secret
sh -c 'while :; do sleep 1; done' marker-of-$CCO_SESSION &
while :; do : > /exchange/$CCO_SESSION/ready; echo reached | busybox nc -l -p 7777; done`
		if err := d.Run(ctx, b, box.Exec{Session: other, Argv: []string{"sh", "-c", script}}); ctx.Err() == nil {
			w.Errorf("the other session: %v", err)
		}
	})
	w.await(filepath.Join(b.Exchange, other, "ready"))
	id := w.id(w.must("box", "push", "-m", strings.ReplaceAll(containersPlan, "OTHER", other), "--box", machine,
		"--agent", "script"))
	w.must("box", "pull", id)
	got, err := os.ReadFile(filepath.Join(w.repo, "containers.txt"))
	want := fmt.Sprintf("uid=0 gid=0\n4\n/host/exchange:\n%s\n\n/host/workspace:\n%[1]s\ndone\n", id)
	if text := strings.ReplaceAll(string(got), "(root)", ""); err != nil || text != want {
		log, _ := os.ReadFile(filepath.Join(w.repo, "podman.log"))
		w.Errorf("%v: got\n%s\nwant\n%s\n%s", err, text, want, log)
	}
}

// verifyBoth shows that the box keeps its promises, and that a box without containers holds everything.
func verifyBoth(w *world) {
	w.must("box", "verify", machine)
	n := 0
	results := must.Get(verify.Run(w.Context(), driver(), w.box(), verify.Options{
		Tool: filepath.Join(os.Getenv(binVariable), "cco-box"), ID: func() string { n++; return fmt.Sprintf("bbbb000%d", n) },
	}))(w)
	for _, r := range results {
		if !r.Held || !r.Promised {
			w.Errorf("%s (%s): held %v, promised %v, %s", r.Probe, r.What, r.Held, r.Promised, r.Detail)
		}
	}
}
