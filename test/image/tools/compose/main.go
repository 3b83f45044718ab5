// Reads a file as `docker compose config` does, and prints what it comes to, as JSON: compose FILE [PROFILE…]
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithOsEnv, cli.WithProfiles(os.Args[2:]))
	if err == nil {
		project, fault := options.LoadProject(context.Background())
		if err = fault; err == nil {
			var text []byte
			if text, err = project.MarshalJSON(); err == nil {
				fmt.Println(string(text))
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
