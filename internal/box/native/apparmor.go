package native

import "fmt"

// AppArmorProfile is the profile that lets cco at path, and the cco-box beside it, make user namespaces where Ubuntu's
// AppArmor restriction is on. It belongs in /etc/apparmor.d/cco; apparmor_parser -r loads it.
func AppArmorProfile(path string) string {
	return fmt.Sprintf(`abi <abi/4.0>,
include <tunables/global>

profile cco %q flags=(unconfined) {
  userns,

  include if exists <local/cco>
}
`, path+"{,-box}")
}
