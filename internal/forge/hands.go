package forge

// Pusher is who moved a branch, as the forge says. What a commit says of its author, or its signature, is not asked.
type Pusher struct {
	Name string `json:"name"`
	Bot  bool   `json:"bot,omitempty"`
}
