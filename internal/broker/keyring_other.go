//go:build !darwin

package broker

import "strings"

// keyringCommand is the desktop's own program for its keyring.
func keyringCommand(name string) []string {
	service, account, ok := strings.Cut(name, "/")
	if !ok {
		return []string{"secret-tool", "lookup", "service", service}
	}
	return []string{"secret-tool", "lookup", "service", service, "account", account}
}

// keyringStore is the same program, which reads the secret.
func keyringStore(name, secret string) (argv []string, said string) {
	service, account, _ := strings.Cut(name, "/")
	return []string{"secret-tool", "store", "--label=" + name, "service", service, "account", account}, secret
}

// keyringIsThere judges what was said when nothing was found: a keyring that has no such key says nothing.
func keyringIsThere(said string) bool { return said == "" }
