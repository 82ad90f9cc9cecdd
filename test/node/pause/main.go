// SPDX-License-Identifier: Apache-2.0

// Command pause waits until it is stopped. It keeps the namespaces of a pod.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTERM, os.Interrupt)
	<-stopped
}
