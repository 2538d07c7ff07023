// Command cco-guest keeps boxes inside a virtual machine for the cco outside.
package main

import (
	"os"

	"github.com/cco-dev/cco/internal/guest"
)

func main() { os.Exit(guest.Main(os.Args[1:])) }
