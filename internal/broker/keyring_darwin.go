package broker

import "strings"

// keyringCommand is the system's own program for its keyring.
func keyringCommand(name string) []string {
	service, account, ok := strings.Cut(name, "/")
	if !ok {
		return []string{"security", "find-generic-password", "-s", service, "-w"}
	}
	return []string{"security", "find-generic-password", "-s", service, "-a", account, "-w"}
}
