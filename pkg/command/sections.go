// Package command is shared by the commands website-apiserver and website-controller.
package command

import (
	"fmt"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	"k8s.io/component-base/term"
)

// AddSections gives a command the flags of all sections, and those that every
// Kubernetes command has. --help shows them by section.
func AddSections(cmd *cobra.Command, sections cliflag.NamedFlagSets) {
	global := sections.FlagSet("global")
	globalflag.AddGlobalFlags(global, cmd.Name(), logs.SkipLoggingConfigurationFlags())
	if cmd.Version != "" {
		// Cobra handles the flag; defined here it appears in its section of --help.
		global.Bool("version", false, fmt.Sprintf("version for %s", cmd.Name()))
	}
	for _, flags := range sections.FlagSets {
		cmd.Flags().AddFlagSet(flags)
	}
	columns, _, err := term.TerminalSize(cmd.OutOrStdout())
	if err != nil {
		columns = 0 // Not a terminal: lines are not wrapped.
	}
	cliflag.SetUsageAndHelpFunc(cmd, sections, columns)
	cmd.CompletionOptions.DisableDefaultCmd = true
}
