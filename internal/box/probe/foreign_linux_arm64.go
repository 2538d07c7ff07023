package probe

// foreignCalls does nothing: a 64-bit process can't make 32-bit calls on this architecture.
func foreignCalls(*Bait) string { return "" }
