// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leader returns the name of the pod that leads.
func (n *node) leader(ctx context.Context) (string, error) {
	lease, err := n.client.CoordinationV1().Leases(namespace).Get(ctx, "fleetdoctor-auditor", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
		return "", errors.New("no auditor leads")
	}
	pod, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_") // the rest is the process
	return pod, nil
}

// freeze stops the leader and the kubelet, as if their node hung, until another auditor leads and has written a
// deletion down. The former leader continues then, and may not write any more.
func freeze(ctx context.Context, n *node) (string, error) {
	former, err := n.leader(ctx)
	if err != nil {
		return "", err
	}
	processes, err := n.processes(product, "fleetdoctor-")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(processes, func(p process) bool { return p.pod == former })
	if i < 0 {
		return "", fmt.Errorf("the leader %s has no process", former)
	}
	signal := func(s syscall.Signal) error {
		return errors.Join(n.signal("kubelet", s), syscall.Kill(processes[i].id, s))
	}
	if err := signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	start := time.Now()
	var took time.Duration
	other, err := func() (string, error) {
		var other string
		if err := until(ctx, 2*time.Minute, func() (err error) {
			if other, err = n.leader(ctx); err == nil && other == former {
				err = fmt.Errorf("%s still leads", former)
			}
			return err
		}); err != nil {
			return "", err
		}
		took = time.Since(start)
		return other, n.deleteOne(ctx)
	}()
	if err := errors.Join(err, signal(syscall.SIGCONT)); err != nil {
		return "", err
	}
	select {
	case <-ctx.Done():
	case <-time.After(15 * time.Second): // a leader renews its Lease every 10 s
	}
	switch now, err := n.leader(ctx); {
	case err != nil:
		return "", err
	case now != other:
		return "", fmt.Errorf("%s leads after %s, which did not stop", now, other)
	}
	if err := n.written(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("another one led after %.0f s; one entry in the journal", took.Seconds()), n.restarted(ctx)
}

// deleteOne deletes an object of a bundle, waits until the journal has that, and creates the object again.
func (n *node) deleteOne(ctx context.Context) error {
	maps := n.client.CoreV1().ConfigMaps("bench-000")
	m, err := maps.Get(ctx, deletedObject, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := maps.Delete(ctx, deletedObject, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := until(ctx, 30*time.Second, func() error { return n.written(ctx) }); err != nil {
		return err
	}
	m.ResourceVersion, m.UID, m.ManagedFields = "", "", nil
	_, err = maps.Create(ctx, m, metav1.CreateOptions{})
	return err
}

const deletedObject = "configmap-000"

// written returns an error unless the journal names the deleted object once.
func (n *node) written(ctx context.Context) error {
	out, err := n.run(ctx, product, "auditor", "history", "-o", "json")
	if err != nil {
		return err
	}
	if times := strings.Count(out, `"name": "`+deletedObject+`"`); times != 1 {
		return fmt.Errorf("the journal names the deleted object %d times:\n%s", times, out)
	}
	return nil
}
