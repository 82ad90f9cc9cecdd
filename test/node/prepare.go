// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The images of the node, by the names that containerd gives them.
const (
	repository      = "docker.io/fleetdoctor/kubectl-fleetdoctor"
	pauseImage      = "localhost/pause:1"
	version         = "v0.0.2"
	previousVersion = "v0.0.1"
)

// assetsVariable has the directory of kube-apiserver, etcd and kubectl. If it is set, test/apiserver builds nothing.
const assetsVariable = "KUBEBUILDER_ASSETS"

// cniPlugins is the directory of the network plugins in Debian.
const cniPlugins = "/usr/lib/cni"

// missingPrograms names what a node needs and this machine does not have.
func missingPrograms() []string {
	var out []string
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		out = append(out, "root on Linux")
	}
	for _, p := range []struct{ name, pkg string }{{"containerd", "containerd"}, {"ctr", "containerd"},
		{"crun", "crun"}, {"iptables", "iptables"}, {"conntrack", "conntrack"}, {"ipset", "ipset"}, {"ip", "iproute2"},
		{"unshare", "util-linux"}, {"nsenter", "util-linux"}, {"bash", "bash"}} {
		if _, err := exec.LookPath(p.name); err != nil {
			out = append(out, p.name+" (Debian: "+p.pkg+")")
		}
	}
	if _, err := os.Stat(filepath.Join(cniPlugins, "bridge")); err != nil {
		out = append(out, cniPlugins+"/bridge (Debian: containernetworking-plugins)")
	}
	return out
}

// prepare builds the programs of the node into DIR/bin, and the images. previous is the revision of the previous
// release.
func prepare(ctx context.Context, dir, previous string) error {
	cmd := exec.CommandContext(ctx, "go", "run", "-C", "test/apiserver", ".")
	cmd.Stderr = os.Stderr
	assets, err := cmd.Output()
	if err == nil {
		err = os.Setenv(assetsVariable, strings.TrimSpace(string(assets)))
	}
	if err != nil {
		return fmt.Errorf("building the API server: %w", err)
	}
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	const kubernetes = "k8s.io/kubernetes/cmd/"
	for _, b := range [][]string{
		{"-C", "test/node/programs", "build", "-o", bin + "/", kubernetes + "kubelet", kubernetes + "kube-proxy",
			kubernetes + "kube-controller-manager", kubernetes + "kube-scheduler"},
		{"-C", "test/node/policies", "build", "-o", bin + "/",
			"github.com/cloudnativelabs/kube-router/v2/cmd/kube-router"},
		{"-C", "test/node/helm", "build", "-o", bin + "/", "helm.sh/helm/v4/cmd/helm"},
		{"build", "-trimpath", "-ldflags=" + linked(version), "-o", filepath.Join(bin, product),
			"./cmd/kubectl-fleetdoctor"},
		{"build", "-o", bin + "/", "./test/node/pause", "./test/bench"},
	} {
		if err := goCommand(ctx, b...); err != nil {
			return err
		}
	}
	if err := releaseImage(ctx, dir, version, filepath.Join(bin, product)); err != nil {
		return fmt.Errorf("making the image: %w", err)
	}
	if err := previousRelease(ctx, dir, previous); err != nil {
		return fmt.Errorf("building the previous release: %w", err)
	}
	return writePause(filepath.Join(dir, "pause.tar"), filepath.Join(bin, "pause"))
}

func goCommand(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w", args, err)
	}
	return nil
}

// linked are the linker flags of a release.
func linked(version string) string {
	return "-s -w -X github.com/fleetdoctor/kubectl-fleetdoctor/pkg/cmd.version=" + version
}

// previousRelease builds the program of a revision as DIR/previous, and its image. Without a revision, it is the newest
// tag; without a tag, nothing is built.
func previousRelease(ctx context.Context, dir, revision string) error {
	if revision == "" {
		// The status is that of a repository without a tag: nothing was released.
		out, _ := exec.CommandContext(ctx, "git", "describe", "--tags", "--abbrev=0", "HEAD^").Output()
		revision = strings.TrimSpace(string(out))
	}
	if revision == "" {
		return nil
	}
	source := filepath.Join(dir, "source")
	archive := exec.CommandContext(ctx, "git", "archive", "--prefix=source/", "--output="+source+".tar", revision)
	if out, err := archive.CombinedOutput(); err != nil {
		return fmt.Errorf("reading %s: %w\n%s", revision, err, out)
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xf", source+".tar", "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("unpacking %s: %w\n%s", revision, err, out)
	}
	program := filepath.Join(dir, "previous")
	if err := goCommand(ctx, "-C", source, "build", "-trimpath", "-ldflags="+linked(previousVersion), "-o", program,
		"./cmd/kubectl-fleetdoctor"); err != nil {
		return err
	}
	return releaseImage(ctx, dir, previousVersion, program)
}

// releaseImage makes the image VERSION.tar with the program that makes those of a release. The archive of the other
// platform has the same program: it never runs here.
func releaseImage(ctx context.Context, dir, version, program string) error {
	archives, layout := filepath.Join(dir, "archives"), filepath.Join(dir, version)
	if err := os.MkdirAll(archives, 0o755); err != nil {
		return err
	}
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for name, path := range map[string]string{product: program,
		"LICENSE": "LICENSE", "THIRD_PARTY_LICENSES.txt": "LICENSE"} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = addFile(archive, name, data, 0o755)
		}
		if err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	for _, arch := range []string{"amd64", "arm64"} {
		name := fmt.Sprintf("kubectl-fleetdoctor_%s_linux_%s.tar.gz", version, arch)
		if err := os.WriteFile(filepath.Join(archives, name), b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	if err := goCommand(ctx, "run", "-C", "test/release", "./image", "-version", version, "-created", "1", "-archives",
		archives, "-o", layout); err != nil {
		return err
	}
	return tarDirectory(layout+".tar", layout)
}

func addFile(to *tar.Writer, name string, data []byte, mode int64) error {
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err := to.Write(data)
	return err
}

// tarDirectory writes the files of a directory into an archive.
func tarDirectory(path, dir string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Close of the writer has flushed
	to := tar.NewWriter(f)
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		return addFile(to, name, data, 0o644)
	})
	if err != nil {
		return err
	}
	return to.Close()
}

// writePause writes an image of one program in the form of `docker save`. The container of a pod's namespaces runs it.
func writePause(path, program string) error {
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var layer bytes.Buffer
	inLayer := tar.NewWriter(&layer)
	if err := addFile(inLayer, "pause", data, 0o755); err != nil {
		return err
	}
	if err := inLayer.Close(); err != nil {
		return err
	}
	type object = map[string]any
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(layer.Bytes()))
	config, err := json.Marshal(object{"architecture": runtime.GOARCH, "os": "linux",
		"config": object{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs": object{"type": "layers", "diff_ids": []string{digest}}})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]object{{"Config": "config.json", "RepoTags": []string{pauseImage},
		"Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Close of the writer has flushed
	to := tar.NewWriter(io.Writer(f))
	for name, content := range map[string][]byte{"config.json": config, "layer.tar": layer.Bytes(),
		"manifest.json": manifest} {
		if err := addFile(to, name, content, 0o644); err != nil {
			return err
		}
	}
	return to.Close()
}
