// Command vise is a terminal workbench that holds a failing LLM agent still
// while it is repaired. See README.md.
package main

import (
	"embed"
	"io/fs"
	"os"

	"vise/tui/cli"
)

//go:embed testdata/demo
var demo embed.FS

func main() {
	sessions, err := fs.Sub(demo, "testdata/demo")
	if err != nil {
		panic(err) // the folder is compiled in: only a broken build gets here
	}
	os.Exit(cli.Main(sessions))
}
