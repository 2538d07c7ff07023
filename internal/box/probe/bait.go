package probe

// Behind is what stands behind the door that the probes try. None of it is on the network: everything that the door
// lets through ends at the host that laid out the bait.
type Behind struct {
	Allowed string   `json:"allowed"` // a name that is allowed, on ports 80 and 443
	Other   string   `json:"other"`   // a name that is not
	Inside  []string `json:"inside"`  // names that are allowed, and lead to the host or its network
	Token   string   `json:"token"`
	Wrong   []string `json:"wrong"`   // tokens that are not this session's
	Hello   []byte   `json:"hello"`   // the first TLS message, to Allowed
	Foreign []byte   `json:"foreign"` // and to Other
	Doors   []string `json:"doors"`   // another session's door, by every name that it might have
}

// DoorVariable is the variable that says where the relay listens.
const DoorVariable = "CCO_PROBE_DOOR"

// Answer is the first word of every answer from behind the door. The requested name follows.
const Answer = "reached"

// These probes go through a door. Control is not a probe: it must get through, or the others show nothing.
const (
	Control     = "door-control"
	DoorRelay   = "door-relay"
	DoorOutside = "door-outside"
)

// RelayFile is where the probe writes the relay's port; the host tries it, and then writes TriedFile.
const (
	RelayFile = "relay-port"
	TriedFile = "relay-tried"
)

// These are the sockets in Bait.Shown. The probe requests the last one by making AskFile, and waits for it.
const (
	ThereStream   = "there"
	ThereDatagram = "there-too"
	Later         = "later"
	AskFile       = "ask-later"
)

// RelayCheck is the name that the host requests from the relay.
const RelayCheck = "relay-check.cco.test"

// Doors are the probes that need a door.
func Doors() []string {
	return []string{Control, "door-names", "door-notation", "door-rebinding", "door-sni", "door-host", "door-token",
		"door-other", DoorRelay}
}
