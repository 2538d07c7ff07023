package hook

// stackRoom is more than reading and judging an ordinary call takes.
const stackRoom = 24 << 10

// grow makes room on the stack at once. Go doubles a stack that is too small
// and copies it each time, which walks every frame by tables that the hook
// would otherwise never page in: as much work as half a decision.
//
//go:noinline
func grow(touch bool) {
	if touch { // never: what counts is the size of this frame
		var room [stackRoom]byte
		use(&room)
	}
}

//go:noinline
func use(room *[stackRoom]byte) { room[0] = 1 }
