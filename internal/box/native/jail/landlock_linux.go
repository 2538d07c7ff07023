package jail

import (
	"errors"
	"fmt"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// Devices are the nodes of the host's /dev that a box shows.
func Devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// landlock says a second time what the mounts say: where the program may write, and that it can neither signal
// nor reach by an abstract socket what is outside. Parts that this kernel doesn't know are left out.
func (p *Plan) landlock(res *Result) error {
	abi, err := ll.LandlockGetABIVersion()
	if err == nil && abi < 2 {
		// The first version forbids to move a file to another directory, which nothing can work with.
		err = fmt.Errorf("this kernel has version %d, the first usable one is 2", abi)
	}
	if err != nil {
		if p.Landlock == IfPossible {
			return nil
		}
		return &missing{"landlock", err}
	}
	const allFS, allScopes = landlock.AccessFSSet(1<<16 - 1), landlock.ScopedSet(1<<2 - 1)
	config, err := landlock.NewConfig(allFS, allScopes)
	if err != nil {
		return &missing{"landlock", err}
	}
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWFiles("/proc"),
		landlock.RWFiles(Devices()...).WithIoctlDev(),
		landlock.RWFiles("/dev/pts").WithIoctlDev(),
		landlock.RWDirs("/tmp", "/dev/shm").WithRefer(),
		landlock.RWDirs(p.Write...).WithRefer(),
	}
	if p.TTY {
		// A shell that writes to /dev/stderr opens the terminal again.
		rules = append(rules, landlock.RWFiles("/proc/self/fd/0").WithIoctlDev())
	}
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return &missing{"landlock", errors.Join(errors.New("restrict"), err)}
	}
	res.LandlockABI = abi
	return nil
}
