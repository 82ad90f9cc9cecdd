// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"testing"
)

// TestInterruption checks that Expire ends the contexts of all holders, and that its channel closes when the last
// holder has released.
func TestInterruption(t *testing.T) {
	t.Parallel()
	i := &Interruption{}
	if i.Expire() != nil {
		t.Error("without holders, there is a channel to wait for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, releaseFirst := i.Hold(ctx)
	second, releaseSecond := i.Hold(ctx)
	cancel()
	if first.Err() != nil || second.Err() != nil {
		t.Error("the end of the verb's context ends the context of a holder")
	}
	released := i.Expire()
	if first.Err() == nil || second.Err() == nil {
		t.Error("the context of a holder has not ended")
	}
	releaseFirst()
	select {
	case <-released:
		t.Error("the channel is closed before the second holder has released")
	default:
	}
	releaseSecond()
	<-released
	if i.Expire() != nil {
		t.Error("all holders have released, and there is a channel to wait for")
	}
	var none *Interruption
	finish, release := none.Hold(ctx)
	if finish.Err() != nil {
		t.Error("the context of a nil Interruption has ended")
	}
	release()
}
