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

// keyringStore is the same program, and what to tell it. It reads commands, because arguments can be seen by all.
func keyringStore(name, secret string) (argv []string, said string) {
	service, account, _ := strings.Cut(name, "/")
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(secret)
	return []string{"security", "-i"}, `add-generic-password -U -s "` + service + `" -a "` + account + `" -w "` + quoted +
		"\"\n"
}

// keyringIsThere judges what was said when nothing was found: here nothing but the program can be missing.
func keyringIsThere(string) bool { return true }
