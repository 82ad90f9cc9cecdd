// SPDX-License-Identifier: Apache-2.0

// Command apiserver builds the control plane for the tests (kube-apiserver, etcd and kubectl, in the versions of this
// module's go.mod) and prints only the directory of the three binaries on standard output; progress goes to standard
// error. Run it in its own module:
//
//	go run -C test/apiserver .
//
// K8S=1.34 selects another version of Kubernetes: the one of the go.mod in the directory 1.34.
//
// The directory is in the user's cache, outside the checkout. Its name depends on everything that the build depends on,
// so a second run only prints it. If KUBEBUILDER_ASSETS is set, nothing is built: that directory is checked and
// printed.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	versionVariable  = "K8S"
)

// binaries are the files that envtest expects in one directory, and their packages.
var binaries = []struct{ name, pkg string }{
	{"etcd", etcdModule},
	{"kube-apiserver", kubernetesModule + "/cmd/kube-apiserver"},
	{"kubectl", kubernetesModule + "/cmd/kubectl"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := assets(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "test/apiserver: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// assets returns the directory of the three binaries and builds them if necessary.
func assets(ctx context.Context) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("using KUBEBUILDER_ASSETS: %q is not an absolute path", dir)
		}
		err := complete(dir)
		if err == nil {
			err = checkVersion(ctx, dir)
		}
		if err != nil {
			return "", fmt.Errorf("using KUBEBUILDER_ASSETS: %w", err)
		}
		return dir, nil
	}
	// The module's own go.mod is used, not a workspace of the caller.
	if err := os.Setenv("GOWORK", "off"); err != nil {
		return "", fmt.Errorf("disabling workspaces: %w", err)
	}
	module, err := moduleDir()
	if err != nil {
		return "", err
	}
	versions, err := requiredVersions(ctx, module)
	if err != nil {
		return "", err
	}
	name, err := cacheKey(module, versions)
	if err != nil {
		return "", err
	}
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if complete(dir) == nil {
		return dir, nil
	}
	return dir, buildLocked(ctx, module, dir, versions[kubernetesModule])
}

// moduleDir returns the directory of the go.mod with the versions: this one, or that of the version in K8S.
func moduleDir() (string, error) {
	version := os.Getenv(versionVariable)
	if version == "" {
		return ".", nil
	}
	modules, err := filepath.Glob("[0-9]*/go.mod")
	if err != nil {
		return "", fmt.Errorf("listing the versions: %w", err)
	}
	var known []string
	for _, m := range modules {
		known = append(known, filepath.Dir(m))
	}
	if !slices.Contains(known, version) {
		return "", fmt.Errorf("using %s: unknown version %q (known: %s; unset, the version of go.mod)",
			versionVariable, version, strings.Join(known, ", "))
	}
	return version, nil
}

// checkVersion compares an existing kube-apiserver with the version in K8S, if that is set.
func checkVersion(ctx context.Context, dir string) error {
	want := os.Getenv(versionVariable)
	if want == "" {
		return nil
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "kube-apiserver"), "--version").Output()
	if err != nil {
		return fmt.Errorf("reading the version of kube-apiserver: %w", err)
	}
	if got := strings.TrimSpace(string(out)); !strings.HasPrefix(got, "Kubernetes v"+want+".") {
		return fmt.Errorf("found %q in %s, but %s is %q", got, dir, versionVariable, want)
	}
	return nil
}

// complete returns an error for the first binary that is not in dir.
func complete(dir string) error {
	for _, b := range binaries {
		if _, err := exec.LookPath(filepath.Join(dir, b.name)); err != nil {
			return fmt.Errorf("looking for %s: %w", b.name, err)
		}
	}
	return nil
}

// requiredVersions returns the versions that the go.mod in a directory requires, by module path.
func requiredVersions(ctx context.Context, module string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-json", filepath.Join(module, "go.mod")).Output()
	if err != nil {
		return nil, fmt.Errorf("reading go.mod: %w", err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("decoding go.mod: %w", err)
	}
	versions := make(map[string]string, len(mod.Require))
	for _, r := range mod.Require {
		versions[r.Path] = r.Version
	}
	for _, path := range []string{kubernetesModule, etcdModule} {
		if versions[path] == "" {
			return nil, fmt.Errorf("reading go.mod: %s is not required (run with go run -C test/apiserver .)", path)
		}
	}
	return versions, nil
}

// cacheKey is the name of the directory for a build. It has both versions, and a hash of everything else that the
// build depends on: go.mod, go.sum, the toolchain, and the flags of this program.
func cacheKey(module string, versions map[string]string) (string, error) {
	hash := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(module, file))
		if err != nil {
			return "", fmt.Errorf("hashing the module: %w", err)
		}
		hash.Write(content)
	}
	flags := buildArgs(versions[kubernetesModule])
	hash.Write(fmt.Append(nil, runtime.Version(), runtime.GOOS, runtime.GOARCH, flags))
	return fmt.Sprintf("kubernetes-%s-etcd-%s-%x", strings.TrimPrefix(versions[kubernetesModule], "v"),
		strings.TrimPrefix(versions[etcdModule], "v"), hash.Sum(nil)[:6]), nil
}

// cacheDir creates and returns the directory for builds. Without a home directory, it is in the directory for
// temporary files. A directory of another user is refused there, because its files will be executed.
func cacheDir() (string, error) {
	base, home := os.Getenv("XDG_CACHE_HOME"), os.Getenv("HOME")
	switch {
	case filepath.IsAbs(base):
	case home != "":
		base = filepath.Join(home, ".cache")
	default:
		base = filepath.Join(os.TempDir(), fmt.Sprintf("cache-%d", os.Getuid()))
		if err := os.MkdirAll(base, 0o700); err != nil {
			return "", fmt.Errorf("creating the cache: %w", err)
		}
		info, err := os.Lstat(base)
		if err != nil {
			return "", fmt.Errorf("creating the cache: %w", err)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || int(stat.Uid) != os.Getuid() || info.Mode() != os.ModeDir|0o700 {
			return "", fmt.Errorf("creating the cache: %s is not a private directory of this user", base)
		}
	}
	dir := filepath.Join(base, "fleetdoctor")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache: %w", err)
	}
	return dir, nil
}

// buildLocked builds into dir. Test packages run in parallel and each asks for the binaries: the first one builds,
// and the others wait for its lock, which the kernel releases when the process ends. dir is created with one
// rename, so it is never incomplete.
func buildLocked(ctx context.Context, module, dir, kubernetesVersion string) error {
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("opening the lock: %w", err)
	}
	defer func() { _ = lock.Close() }() // releases the lock; nothing was written
	locked := make(chan error, 1)
	go func() { locked <- syscall.Flock(int(lock.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	if complete(dir) == nil {
		return nil
	}
	partial := dir + ".partial"
	for _, leftover := range []string{dir, partial} {
		if err := os.RemoveAll(leftover); err != nil {
			return fmt.Errorf("clearing an unfinished build: %w", err)
		}
	}
	if err := build(ctx, module, partial, kubernetesVersion); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return fmt.Errorf("publishing the build: %w", err)
	}
	return nil
}

// build builds the three binaries of a module into dir.
func build(ctx context.Context, module, dir, kubernetesVersion string) error {
	fmt.Fprintf(os.Stderr, "test/apiserver: building etcd, kube-apiserver and kubectl, %s; "+
		"this takes a few minutes, once\n", kubernetesVersion)
	start := time.Now()
	for _, b := range binaries {
		args := slices.Concat([]string{"build", "-o", filepath.Join(dir, b.name)}, buildArgs(kubernetesVersion),
			[]string{b.pkg})
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = module
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		// An interrupted compiler removes its temporary files.
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building %s: %w", b.pkg, err)
		}
		fmt.Fprintf(os.Stderr, "test/apiserver: built %s after %s\n", b.name, time.Since(start).Round(time.Second))
	}
	return nil
}

// buildArgs are the flags of every build. Kubernetes that is built as a dependency does not know its own version,
// which clients read from /version; a release build sets it in the same way.
func buildArgs(kubernetesVersion string) []string {
	parts := append(strings.SplitN(strings.TrimPrefix(kubernetesVersion, "v"), ".", 3), "", "")
	ldflags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range []string{
			"gitVersion=" + kubernetesVersion, "gitMajor=" + parts[0], "gitMinor=" + parts[1],
			"gitTreeState=archive", "gitCommit=unknown",
		} {
			ldflags = append(ldflags, "-X="+pkg+"."+v)
		}
	}
	return []string{"-trimpath", "-mod=readonly", "-buildvcs=false", "-ldflags=" + strings.Join(ldflags, " ")}
}
