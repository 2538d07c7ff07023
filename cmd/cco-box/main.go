// Command cco-box is the part of cco that runs inside a box. Everything that runs there pays for its start,
// so little is linked into it.
package main

import (
	"os"

	"github.com/cco-dev/cco/internal/inside/tool"
)

func main() { os.Exit(tool.Start(os.Args)) }
