// Command pause-standin keeps the namespaces of a pod, as the pause image of Kubernetes
// does, for development clusters that cannot reach a registry of images. It is no part of
// the product.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	fmt.Println("pause-standin: a stand-in for the pause image, for development only")
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		// The first process of a pod that shares its processes inherits the orphans.
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
	}
}
