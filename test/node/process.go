// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is the process of a pod of a chart.
type process struct {
	id   int
	pod  string
	peak int64 // the highest resident memory in bytes
}

// processes returns the processes of a program in pods with a prefix. A container's host name is the name of its pod.
func (n *node) processes(program, prefix string) ([]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var out []process
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		file := func(name string) string {
			data, _ := os.ReadFile("/proc/" + e.Name() + "/" + name) // the process may have ended
			return string(data)
		}
		command, _, _ := strings.Cut(file("cmdline"), "\x00")
		_, environment, _ := strings.Cut("\x00"+file("environ"), "\x00HOSTNAME=")
		pod, _, _ := strings.Cut(environment, "\x00")
		if filepath.Base(command) != program || !strings.HasPrefix(pod, prefix) {
			continue
		}
		_, peak, _ := strings.Cut(file("status"), "VmHWM:")
		peak, _, _ = strings.Cut(peak, "kB")
		kib, err := strconv.ParseInt(strings.TrimSpace(peak), 10, 64)
		if err != nil {
			continue // it has just ended
		}
		out = append(out, process{id: id, pod: pod, peak: kib << 10})
	}
	if out == nil {
		return nil, fmt.Errorf("no process %s of a pod %s was found", program, prefix)
	}
	return out, nil
}

// signal sends a signal to a program of the node.
func (n *node) signal(name string, signal syscall.Signal) error {
	for _, p := range n.daemons {
		if filepath.Base(p.Path) == name {
			return p.Process.Signal(signal)
		}
	}
	return fmt.Errorf("sending a signal to %s: the node does not run it", name)
}
