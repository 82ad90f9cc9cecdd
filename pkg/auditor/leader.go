// SPDX-License-Identifier: Apache-2.0

package auditor

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// LeaseName is the name of the Lease of the leader.
const LeaseName = "fleetdoctor-auditor"

// election decides which replica writes.
type election struct {
	lock *lock
	log  logr.Logger
}

func newElection(client coordination.LeasesGetter, namespace, identity string, held *Lease,
	log logr.Logger) *election {
	return &election{log: log, lock: &lock{lease: held, Interface: &resourcelock.LeaseLock{Client: client,
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: LeaseName},
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity}}}}
}

// run takes part in elections until the context ends. lead is called with a context that ends when this replica no
// longer leads; run waits until it returns.
func (e *election) run(ctx context.Context, lead func(context.Context)) error {
	leading := make(chan struct{}, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: LeaseName, Lock: e.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: renewal,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				leading <- struct{}{}
				defer func() { <-leading }()
				e.log.Info("leads")
				defer e.log.Info("does not lead any more")
				lead(ctx)
			},
			OnStoppedLeading: func() { e.lock.lease.set(time.Time{}) },
		},
	})
	if err != nil {
		return fmt.Errorf("preparing the election of the leader: %w", err)
	}
	for ctx.Err() == nil {
		elector.Run(ctx) // it ends when the Lease is lost, and does not wait for lead
		leading <- struct{}{}
		<-leading
	}
	return nil
}
