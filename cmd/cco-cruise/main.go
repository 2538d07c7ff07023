// Command cco-cruise is cco with the commands that need an engine and forges. cco becomes it for those.
package main

import (
	"os"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cli/cruising"
)

func main() { os.Exit(cli.Main(cruising.Commands)) }
