// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxProcesses bounds the number of processes that endChildren terminates.
const maxProcesses = 1000

// endChildren terminates the child processes of this process, and their children. Errors are ignored: the process ends anyway.
func endChildren() {
	all := children("self")
	for i := 0; i < len(all) && len(all) < maxProcesses; i++ {
		all = append(all, children(all[i])...)
	}
	for _, pid := range all {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGTERM) // the process may have ended
		}
	}
}

// children are the ids of the child processes of all threads of a process.
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
