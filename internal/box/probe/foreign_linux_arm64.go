package probe

// foreignCalls has nothing to try: a 64-bit process can't make calls of the 32-bit kind on this machine.
func foreignCalls(*Bait) string { return "" }
