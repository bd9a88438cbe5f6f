// Command pause-standin replaces Kubernetes' pause, which keeps the namespaces of a pod, in
// development clusters without an image registry. It is not part of the product.
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
		// The first process of a pod with shared processes inherits the orphans.
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
				break
			}
		}
	}
}
