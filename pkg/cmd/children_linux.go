// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxProcesses bounds how many processes endChildren tells to end.
const maxProcesses = 1000

// endChildren tells the processes that this one started, and those that they started, to end. What the kernel does not say of them is passed
// over: the process ends anyway.
func endChildren() {
	all := children("self")
	for i := 0; i < len(all) && len(all) < maxProcesses; i++ {
		all = append(all, children(all[i])...)
	}
	for _, pid := range all {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGTERM) // it may have ended just now
		}
	}
}

// children are the ids of the processes that the threads of a process have started.
func children(pid string) []string {
	lists, err := filepath.Glob("/proc/" + pid + "/task/*/children")
	if err != nil {
		return nil
	}
	var out []string
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		out = append(out, strings.Fields(string(text))...)
	}
	return out
}
