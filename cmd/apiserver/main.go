// Command website-apiserver serves the Website API.
package main

import (
	"fmt"
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/kubesites/website-apiserver/pkg/apiserver/app"
)

func main() {
	cmd, err := app.NewCommand(genericapiserver.SetupSignalContext())
	if err != nil {
		fmt.Fprintf(os.Stderr, "website-apiserver: %v\n", err)
		os.Exit(1)
	}
	os.Exit(cli.Run(cmd))
}
