// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The addresses of the node. Everything stays in its namespace for the network.
const (
	address      = "10.99.0.1"
	services     = "10.43.0.0/16"
	firstService = "10.43.0.1"
	pods         = "10.244.0.0/24"
	token        = "invented-token-of-the-administrator"
)

// node is Kubernetes with one real node.
type node struct {
	dir     string
	daemons []*exec.Cmd
	config  *rest.Config
	client  *kubernetes.Clientset
	kills   int // so often every process of a pod was killed
}

// path returns a path in the directory of the node.
func (n *node) path(parts ...string) string {
	return filepath.Join(append([]string{n.dir}, parts...)...)
}

// run runs a program to its end, and returns what it prints.
func (n *node) run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.path("kubeconfig"), "HOME="+n.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// daemon starts a program that runs until the node stops. Its log is NAME.log.
func (n *node) daemon(name string, args ...string) error {
	log, err := os.Create(n.path(name + ".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	n.daemons = append(n.daemons, cmd)
	return log.Close() // the process has a copy
}

// stop ends the programs. What they started ends with the namespace of the processes.
func (n *node) stop() {
	for i := len(n.daemons) - 1; i >= 0; i-- {
		_ = n.daemons[i].Process.Signal(syscall.SIGKILL) // it may have ended
		_ = n.daemons[i].Wait()
	}
}

// until repeats a condition until it holds. The error is the last one.
func until(ctx context.Context, limit time.Duration, condition func() error) error {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not after %s: %w", limit, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// start starts the node and its control plane. It returns when the node is ready.
func (n *node) start(ctx context.Context) error {
	// crun refuses cgroups of version 1 beside version 2.
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil {
		if err := syscall.Unmount("/sys/fs/cgroup/unified", 0); err != nil {
			return fmt.Errorf("unmounting /sys/fs/cgroup/unified: %w", err)
		}
	}
	for _, args := range []string{"link set lo up", "link add node0 type bridge",
		"addr add " + address + "/24 dev node0", "link set node0 up", "route add default dev node0"} {
		if _, err := n.run(ctx, "ip", strings.Fields(args)...); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{n.files, n.controlPlane, n.kubelet} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return n.enforcePolicies(ctx)
}

// files writes the configuration.
func (n *node) files(context.Context) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	signing := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	for name, text := range map[string]string{
		"sa.key":     string(signing),
		"tokens.csv": token + `,admin,admin,"system:masters"` + "\n",
		"kubeconfig": "apiVersion: v1\nkind: Config\ncurrent-context: node\n" +
			"contexts: [{name: node, context: {cluster: node, user: admin}}]\n" +
			"users: [{name: admin, user: {token: " + token + "}}]\n" +
			"clusters: [{name: node, cluster: {server: 'https://" + address + ":6443', certificate-authority: " +
			n.path("pki", "apiserver.crt") + "}}]\n",
		"cni/10-bridge.conflist": `{"cniVersion":"0.4.0","name":"bridge","plugins":[{"type":"bridge","bridge":"cni0",` +
			`"isGateway":true,"hairpinMode":true,"ipam":{"type":"host-local","ranges":[[{"subnet":"` + pods +
			`"}]],"routes":[{"dst":"0.0.0.0/0"}]}},{"type":"portmap","capabilities":{"portMappings":true}}]}`,
		"containerd.toml": fmt.Sprintf(`version = 2
root = %q
state = %q
[grpc]
  address = %q
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "crun"
`, n.path("containerd"), n.path("run"), n.socket(), pauseImage, cniPlugins, n.path("cni")),
		"kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
failSwapOn: false
cgroupDriver: cgroupfs
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://` + n.socket() + `
clusterDNS: [10.43.0.10]
resolvConf: ""
imageGCHighThresholdPercent: 99
localStorageCapacityIsolation: false
enforceNodeAllocatable: []
`,
	} {
		if err := os.MkdirAll(filepath.Dir(n.path(name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(n.path(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func (n *node) socket() string { return n.path("containerd.sock") }

// controlPlane starts etcd, the API server, the controllers and the scheduler.
func (n *node) controlPlane(ctx context.Context) error {
	const etcd = "http://127.0.0.1:2379"
	if err := n.daemon("etcd", "--data-dir", n.path("etcd"), "--listen-client-urls", etcd,
		"--advertise-client-urls", etcd, "--listen-peer-urls", "http://127.0.0.1:2380",
		"--unsafe-no-fsync"); err != nil {
		return err
	}
	if err := n.daemon("kube-apiserver", "--etcd-servers", etcd, "--secure-port=6443", "--advertise-address", address,
		"--service-cluster-ip-range", services, "--cert-dir", n.path("pki"), "--token-auth-file", n.path("tokens.csv"),
		"--service-account-key-file", n.path("sa.key"), "--service-account-signing-key-file", n.path("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--authorization-mode=RBAC",
		"--allow-privileged"); err != nil {
		return err
	}
	if err := until(ctx, time.Minute, func() error {
		_, err := n.run(ctx, "kubectl", "get", "--raw", "/readyz")
		return err
	}); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", n.path("kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	n.config = config
	if n.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	if err := n.daemon("kube-controller-manager", "--kubeconfig", n.path("kubeconfig"), "--leader-elect=false",
		"--service-account-private-key-file", n.path("sa.key"), "--root-ca-file", n.path("pki", "apiserver.crt"),
		"--use-service-account-credentials", "--secure-port=0"); err != nil {
		return err
	}
	return n.daemon("kube-scheduler", "--kubeconfig", n.path("kubeconfig"), "--leader-elect=false", "--secure-port=0")
}

// kubelet starts containerd with the images, the kubelet and kube-proxy.
func (n *node) kubelet(ctx context.Context) error {
	if err := n.daemon("containerd", "-c", n.path("containerd.toml")); err != nil {
		return err
	}
	images := [][]string{{n.path("pause.tar")}}
	for _, v := range []string{version, previousVersion} {
		if file := n.path(v + ".tar"); v == version || exists(file) {
			images = append(images, []string{"--base-name", repository, "--index-name", repository + ":" + v, file})
		}
	}
	for _, image := range images {
		args := append([]string{"-a", n.socket(), "-n", "k8s.io", "images", "import"}, image...)
		if err := until(ctx, 30*time.Second, func() error {
			_, err := n.run(ctx, "ctr", args...)
			return err
		}); err != nil {
			return err
		}
	}
	if err := n.daemon("kubelet", "--config", n.path("kubelet.yaml"), "--kubeconfig", n.path("kubeconfig"), "--node-ip",
		address, "--hostname-override=n1", "--root-dir", n.path("kubelet")); err != nil {
		return err
	}
	return n.daemon("kube-proxy", "--kubeconfig", n.path("kubeconfig"), "--hostname-override=n1",
		"--proxy-mode=iptables", "--cluster-cidr", pods, "--conntrack-max-per-core=0")
}

// enforcePolicies waits until the node is ready, and starts what enforces the policies of the network: it ends at once
// if it does not find the node.
func (n *node) enforcePolicies(ctx context.Context) error {
	if err := until(ctx, time.Minute, func() error {
		out, err := n.run(ctx, "kubectl", "get", "nodes", "--no-headers")
		if err == nil && !strings.Contains(out, " Ready ") {
			err = errors.New(strings.TrimSpace(out))
		}
		return err
	}); err != nil {
		return err
	}
	return n.daemon("kube-router", "--kubeconfig", n.path("kubeconfig"), "--hostname-override=n1", "--run-firewall",
		"--run-router=false", "--run-service-proxy=false", "--service-cluster-ip-range", services, "--health-port=0")
}
