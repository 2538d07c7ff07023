package native

// Promises names the probes of the escape suite that must hold.
func (d *Driver) Promises() []string { return nil }
