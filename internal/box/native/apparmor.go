package native

import "fmt"

// AppArmorProfile is the profile that lets cco at path, and cco-box beside it, make user namespaces where Ubuntu's
// AppArmor restriction is on. It goes to /etc/apparmor.d/cco and is loaded with apparmor_parser -r.
func AppArmorProfile(path string) string {
	return fmt.Sprintf(`abi <abi/4.0>,
include <tunables/global>

profile cco %q flags=(unconfined) {
  userns,

  include if exists <local/cco>
}
`, path+"{,-box}")
}
