// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The peers of the policies: the pods of both charts, a pod of somebody else, and the API server.
const (
	webhookPeer  = "fleetdoctor-webhook"
	auditorPeer  = "fleetdoctor-auditor"
	strangerPeer = "stranger"
	serverPeer   = address
)

// connection is a connection from a pod to a port, and in which settings of the policies it must be possible.
type connection struct {
	from, to                   string
	port                       int
	standard, restricted, none bool
}

// connections are all ports that the pods open, from a pod of somebody else, and what the pods themselves reach.
var connections = []connection{
	{strangerPeer, webhookPeer, 9443, true, false, true},
	{strangerPeer, webhookPeer, 8080, false, false, true},
	{strangerPeer, webhookPeer, 8081, false, false, true},
	{strangerPeer, auditorPeer, 8080, true, true, true},
	{strangerPeer, auditorPeer, 8081, false, false, true},
	{webhookPeer, serverPeer, 6443, true, true, true},
	{auditorPeer, serverPeer, 6443, true, true, true},
	{webhookPeer, auditorPeer, 8080, true, false, true},
	{auditorPeer, webhookPeer, 9443, true, false, true},
}

// policies tries all connections with the standard policies, with apiServers, and without policies.
func policies(ctx context.Context, n *node) (string, error) {
	if err := n.stranger(ctx); err != nil {
		return "", err
	}
	servers := "--set=apiServers={" + address + "," + firstService + "}"
	for _, s := range []struct {
		setting string
		allowed func(connection) bool
	}{
		{"--set=networkPolicy.enabled=true", func(c connection) bool { return c.standard }},
		{servers, func(c connection) bool { return c.restricted }},
		{"--set=networkPolicy.enabled=false", func(c connection) bool { return c.none }},
	} {
		for name := range charts {
			if err := n.helm(ctx, name, append(imageValues(), "--reset-values", s.setting)...); err != nil {
				return "", err
			}
		}
		peers, err := n.peers(ctx)
		if err != nil {
			return "", err
		}
		for _, c := range connections {
			if err := until(ctx, 20*time.Second, func() error { // until the policies are in force
				if open := n.connects(ctx, peers[c.from].process, peers[c.to].address, c.port); open != s.allowed(c) {
					return fmt.Errorf("%s: connection from %s to port %d of %s is possible: %t", s.setting, c.from,
						c.port, c.to, open)
				}
				return nil
			}); err != nil {
				return "", err
			}
		}
	}
	for name := range charts {
		if err := n.helm(ctx, name, append(imageValues(), "--reset-values")...); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d connections, three settings; no other port is open", len(connections)), n.ports(ctx)
}

// stranger runs a pod that belongs to neither chart.
func (n *node) stranger(ctx context.Context) error {
	_, err := n.client.CoreV1().Pods(shop).Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: strangerPeer},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "pause", Image: pauseImage}}}},
		metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = n.run(ctx, "kubectl", "wait", "--for=condition=Ready", "-n", shop, "pod/"+strangerPeer, "--timeout=60s")
	return err
}

// peer is one pod of a name, or the API server.
type peer struct {
	process int
	address string
}

func (n *node) peers(ctx context.Context) (map[string]peer, error) {
	out := map[string]peer{serverPeer: {address: address}}
	for name, where := range map[string]struct{ namespace, program string }{webhookPeer: {namespace, product},
		auditorPeer: {namespace, product}, strangerPeer: {shop, "pause"}} {
		processes, err := n.processes(where.program, name)
		if err != nil {
			return nil, err
		}
		p := processes[0]
		pod, err := n.client.CoreV1().Pods(where.namespace).Get(ctx, p.pod, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		out[name] = peer{process: p.id, address: pod.Status.PodIP}
	}
	return out, nil
}

// connects reports whether a process can open a TCP connection, in its namespace of the network.
func (n *node) connects(ctx context.Context, process int, to string, port int) bool {
	_, err := n.run(ctx, "nsenter", "--target", strconv.Itoa(process), "--net", "timeout", "2", "bash", "-c",
		fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", to, port))
	return err == nil
}

// ports checks that the pods listen on the ports of their containers, and on no other.
func (n *node) ports(ctx context.Context) error {
	processes, err := n.processes(product, "fleetdoctor-")
	if err != nil {
		return err
	}
	for _, p := range processes {
		open, err := listening(p.id)
		if err != nil {
			return err
		}
		pod, err := n.client.CoreV1().Pods(namespace).Get(ctx, p.pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		var stated []int
		for _, port := range pod.Spec.Containers[0].Ports {
			stated = append(stated, int(port.ContainerPort))
		}
		slices.Sort(stated)
		if !slices.Equal(open, stated) {
			return fmt.Errorf("pod %s listens on %v, and states %v", p.pod, open, stated)
		}
	}
	return nil
}

// listening returns the TCP ports on which a process listens, in ascending order.
func listening(process int) ([]int, error) {
	var out []int
	for _, family := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", process, family))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line) // number, local address, remote address, state
			if len(f) < 4 || f[3] != "0A" {
				continue
			}
			port, err := strconv.ParseInt(f[1][strings.LastIndexByte(f[1], ':')+1:], 16, 32)
			if err != nil {
				return nil, err
			}
			out = append(out, int(port))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
