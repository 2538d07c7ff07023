// Package relay stands between a program in a box and the way out of it: connections to a port on the box's own loopback
// are copied to a unix socket, behind which the broker decides. It decides nothing itself.
package relay

// Mark stands for the relay's address, HOST:PORT, in the arguments and the environment of the program that it starts.
const Mark = "@cco-door@"
