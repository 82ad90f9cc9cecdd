// SPDX-License-Identifier: Apache-2.0

// Command licenses writes the licence texts of the Go modules that are linked into a binary of this checkout. A module
// without a licence file is an error. The same binary gives the same bytes.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	out := flag.String("o", "", "path of the file with the licence texts")
	flag.Parse()
	if err := run(*out, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(out, binary string) error {
	if out == "" || binary == "" {
		return errors.New("usage: licenses -o FILE BINARY")
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading the build information of %s: %w", binary, err)
	}
	modules, err := linked(info.Path, settings(info))
	if err != nil {
		return err
	}
	if err := same(info, modules); err != nil {
		return fmt.Errorf("%s is not a binary of this checkout: %w", binary, err)
	}
	content, err := document(modules)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(out, content, 0o644)
}

// settings are the settings of a build that decide which packages are linked, as variables of the environment.
func settings(info *debug.BuildInfo) []string {
	var env []string
	for _, s := range info.Settings {
		if slices.Contains([]string{"GOOS", "GOARCH", "CGO_ENABLED"}, s.Key) {
			env = append(env, s.Key+"="+s.Value)
		}
	}
	return env
}

// module is a module with the directories of its linked packages.
type module struct {
	path, version string
	root          string
	packages      []string
}

func (m module) String() string { return m.path + " " + m.version }

// linked lists the modules of a program, sorted by path. Go's own code is the module std.
func linked(program string, env []string) ([]module, error) {
	goEnv, err := command(nil, "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	goroot, version, _ := strings.Cut(strings.TrimSpace(string(goEnv)), "\n")
	list, err := command(env, "list", "-deps", "-json=Dir,Standard,Module", program)
	if err != nil {
		return nil, err
	}
	modules := map[string]*module{}
	for decoder := json.NewDecoder(bytes.NewReader(list)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		m := module{path: "std", version: version, root: goroot}
		if !p.Standard {
			if p.Module.Main {
				continue // LICENSE is beside the texts
			}
			m = module{path: p.Module.Path, version: p.Module.Version, root: p.Module.Dir}
		}
		if modules[m.path] == nil {
			modules[m.path] = &m
		}
		modules[m.path].packages = append(modules[m.path].packages, p.Dir)
	}
	var sorted []module
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		sorted = append(sorted, *modules[path])
	}
	return sorted, nil
}

func command(env []string, args ...string) ([]byte, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), env...)
	var message bytes.Buffer
	c.Stderr = &message
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, &message)
	}
	return out, nil
}

// same compares the modules that the linker put into a binary with those of this checkout.
func same(info *debug.BuildInfo, modules []module) error {
	built := map[string]string{"std": info.GoVersion}
	for _, m := range info.Deps {
		built[m.Path] = m.Version
	}
	for _, m := range modules {
		if built[m.path] != m.version {
			return fmt.Errorf("it has version %q of %s, not %s", built[m.path], m.path, m.version)
		}
		delete(built, m.path)
	}
	for _, path := range slices.Sorted(maps.Keys(built)) {
		return fmt.Errorf("it has %s %s, which this checkout does not link", path, built[path])
	}
	return nil
}
