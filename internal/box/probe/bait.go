package probe

// Behind is what stands behind the door that the probes try. None of it is on the network: whatever the door lets
// through ends at the host that laid it out.
type Behind struct {
	Allowed string   `json:"allowed"` // a name that is let through, on ports 80 and 443
	Other   string   `json:"other"`   // a name that is not
	Inside  []string `json:"inside"`  // names that are allowed, and lead to the host or its network
	Token   string   `json:"token"`
	Wrong   []string `json:"wrong"`   // tokens that are not this session's
	Hello   []byte   `json:"hello"`   // what TLS says first, to Allowed
	Foreign []byte   `json:"foreign"` // and to Other
	Doors   []string `json:"doors"`   // another session's, by every name that it might have
}

// DoorVariable says where the relay listens.
const DoorVariable = "CCO_PROBE_DOOR"

// Answer is the first word of what stands behind the door. The name that it was asked for follows.
const Answer = "reached"

// The probes that go through a door. Control is none of them: it must get through, or the others show nothing.
const (
	Control     = "door-control"
	DoorRelay   = "door-relay"
	DoorOutside = "door-outside"
)

// RelayFile is where the probe says which port the relay has; the host tries it, and says so in TriedFile.
const (
	RelayFile = "relay-port"
	TriedFile = "relay-tried"
)

// The sockets in Bait.Shown. The probe asks for the last one by making AskFile, and waits for it.
const (
	ThereStream   = "there"
	ThereDatagram = "there-too"
	Later         = "later"
	AskFile       = "ask-later"
)

// RelayCheck is the name that the host asks the relay for.
const RelayCheck = "relay-check.cco.test"

// Doors are the probes that need a door.
func Doors() []string {
	return []string{Control, "door-names", "door-notation", "door-rebinding", "door-sni", "door-host", "door-token",
		"door-other", DoorRelay}
}
