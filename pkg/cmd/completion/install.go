// SPDX-License-Identifier: Apache-2.0

// Package completion installs the script with which the completion of kubectl calls this program.
package completion

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd/exit"
)

// Name is the file that the completion of kubectl calls to complete the arguments of "kubectl fleetdoctor". It must be
// on the PATH.
const Name = "kubectl_complete-fleetdoctor"

// mark is in every version of the script. A file without it is not ours.
const mark = "# Made by: kubectl fleetdoctor completion --install"

const script = "#!/bin/sh\n" + mark + "\n" +
	"# The completion of kubectl calls it to complete the arguments of: kubectl fleetdoctor\n" +
	"exec kubectl fleetdoctor __complete \"$@\"\n"

// Install writes the script beside the program, and returns what it did. path is the PATH, in which kubectl finds both.
// A file that is not ours is never overwritten.
func Install(executable, path string) (string, error) {
	if runtime.GOOS == "windows" {
		return "", failed("installing the completion: not available on Windows, where kubectl cannot call a shell "+
			"script",
			"\"completion powershell\" prints the completion of the program under its own name.")
	}
	dir, onPath := directory(executable, path)
	file := filepath.Join(dir, Name)
	was, err := ours(file)
	if err != nil {
		return "", err
	}
	done := "installed " + file
	switch {
	case bytes.Equal(was, []byte(script)):
		done = file + " is already installed"
	case was != nil:
		done = "updated " + file
		fallthrough
	default:
		if err := write(file, was != nil); err != nil {
			return "", failed(fmt.Sprintf("installing the completion: %s", err),
				"Run the command as a user who may write to "+dir+".")
		}
	}
	if !onPath {
		done += "\n" + dir + " is not on the PATH: kubectl finds neither the program nor this file there"
	}
	return done + "\nIn a new shell with the completion of kubectl (kubectl completion --help), try: kubectl " +
		"fleetdoctor <TAB>", nil
}

func failed(message, hint string) error {
	return exit.Failure(errors.New(message), hint)
}

// directory returns the directory on the PATH in which kubectl finds the program, which may be a link to it, or else
// that of the program.
func directory(executable, path string) (dir string, onPath bool) {
	program, err := os.Stat(executable)
	if err != nil {
		return filepath.Dir(executable), false
	}
	for _, dir := range filepath.SplitList(path) {
		found, err := os.Stat(filepath.Join(dir, "kubectl-fleetdoctor"))
		if err == nil && filepath.IsAbs(dir) && os.SameFile(program, found) {
			return dir, true
		}
	}
	return filepath.Dir(executable), false
}

// ours returns the present script; nil if the file does not exist. It refuses a file that this program did not write.
func ours(file string) ([]byte, error) {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, failed("installing the completion: "+err.Error(), "")
	}
	var was []byte
	if info.Mode().IsRegular() {
		if was, err = os.ReadFile(file); err != nil {
			return nil, failed("installing the completion: "+err.Error(), "")
		}
	}
	if !strings.Contains(string(was), mark+"\n") {
		return nil, failed(fmt.Sprintf("installing the completion: %s exists, and is not of this program", file),
			"Remove it, if nothing else needs it.")
	}
	return was, nil
}

// write stores the script. A new file is created only if there is still none; an old one is replaced at once.
func write(file string, replace bool) error {
	f, err := os.CreateTemp(filepath.Dir(file), "."+Name+"-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(script)
	err = errors.Join(err, f.Chmod(0o755), f.Close())
	switch {
	case err != nil:
	case replace:
		return os.Rename(f.Name(), file)
	default:
		err = os.Link(f.Name(), file) // it fails if the file exists
	}
	return errors.Join(err, os.Remove(f.Name()))
}
