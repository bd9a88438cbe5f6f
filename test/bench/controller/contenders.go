package controller

import (
	"github.com/kubesites/website-apiserver/pkg/apis/website/v1beta1"
)

// Names of contenders.
const (
	floor    = "floor"
	product  = "website-controller"
	scaffold = "scaffold"
	tuned    = "scaffold, tuned"
)

// contender is one way to get children of Websites.
type contender struct {
	name string
	// apiVersion is the API version of its Websites. Empty: the client creates the children itself.
	apiVersion string
	// program is in the directory bin, user whom its requests are from.
	program, user string
	// flags of the program, for its kubeconfig and its ports.
	flags func(kubeconfig string, ports [2]string) []string
	// metrics and profiles are URLs.
	metrics, profiles func(ports [2]string) string
	// queue is the name of its work queue in metrics.
	queue string
}

const (
	productUser  = "system:serviceaccount:website-system:website-controller"
	scaffoldUser = "system:serviceaccount:website-system:scaffold-controller"
)

var contenders = []*contender{
	{name: floor},
	{
		name: product, apiVersion: v1beta1.GroupVersion.String(), program: "website-controller", user: productUser,
		queue: "websites",
		flags: func(kubeconfig string, ports [2]string) []string {
			return []string{
				"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
				"--authorization-kubeconfig=" + kubeconfig,
				"--bind-address=127.0.0.1", "--secure-port=" + ports[0], "--profiling",
				// The addresses of simulated pods do not exist.
				"--commit-observation=None",
			}
		},
		metrics:  func(ports [2]string) string { return "https://127.0.0.1:" + ports[0] },
		profiles: func(ports [2]string) string { return "https://127.0.0.1:" + ports[0] },
	},
	scaffoldContender(scaffold),
	scaffoldContender(tuned, "--tuned"),
}

func scaffoldContender(name string, extra ...string) *contender {
	return &contender{
		name: name, apiVersion: "definition.example.com/v1beta1", program: "scaffold-controller", user: scaffoldUser,
		queue: "website",
		flags: func(kubeconfig string, ports [2]string) []string {
			return append([]string{
				"--kubeconfig=" + kubeconfig, "--metrics-bind-address=127.0.0.1:" + ports[0],
				"--pprof-bind-address=127.0.0.1:" + ports[1],
			}, extra...)
		},
		metrics:  func(ports [2]string) string { return "http://127.0.0.1:" + ports[0] },
		profiles: func(ports [2]string) string { return "http://127.0.0.1:" + ports[1] },
	}
}

// hasController is false for the bare children.
func (c *contender) hasController() bool { return c.program != "" }
