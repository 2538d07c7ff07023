// Command cco hands work to coding agents in isolated boxes and brings commits back.
package main

import (
	"os"

	"github.com/cco-dev/cco/internal/cli"
)

func main() { os.Exit(cli.Main()) }
