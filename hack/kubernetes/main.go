// Command kubernetes contains the Kubernetes programs of the development cluster but kubectl: it runs the one with the
// name of its link. The programs share most of their code, so one binary is linked instead of six.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // for the time zones of CronJobs

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// commands are the programs that run until a signal ends them. On Linux, the programs of a node
// are added.
var commands = map[string]func() *cobra.Command{
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllermanager.NewControllerManagerCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
}

func main() {
	name := filepath.Base(os.Args[0])
	switch {
	case commands[name] != nil:
		os.Exit(cli.Run(commands[name]()))
	case name == "etcd":
		etcdmain.Main(os.Args)
	default:
		fmt.Fprintf(os.Stderr, "%s is no Kubernetes program: call this binary by a link with the name of one\n", name)
		os.Exit(2)
	}
}
