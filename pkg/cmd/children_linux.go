// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// endChildren terminates the child processes of this process, and their children. Errors are ignored: the process ends
// anyway.
func endChildren() {
	for _, pid := range descendants("self") {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGTERM) // the process may have ended
		}
	}
}

// descendants are the ids of the child processes of all threads of a process, and of their children.
func descendants(pid string) []string {
	lists, _ := filepath.Glob("/proc/" + pid + "/task/*/children") // the pattern is valid
	var out []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has no children
		for _, child := range strings.Fields(string(text)) {
			out = append(append(out, child), descendants(child)...)
		}
	}
	return out
}
