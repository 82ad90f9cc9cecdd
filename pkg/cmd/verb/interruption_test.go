// SPDX-License-Identifier: Apache-2.0

package verb

import (
	"context"
	"testing"
)

// TestInterruption holds that holders are told when their time is over, and waited for until the last of them has released.
func TestInterruption(t *testing.T) {
	t.Parallel()
	i := &Interruption{}
	if i.Expire() != nil {
		t.Error("nobody holds, and somebody is waited for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, releaseFirst := i.Hold(ctx)
	second, releaseSecond := i.Hold(ctx)
	cancel()
	if first.Err() != nil || second.Err() != nil {
		t.Error("the end of the verb's context is the end of what is under way")
	}
	released := i.Expire()
	if first.Err() == nil || second.Err() == nil {
		t.Error("what is under way goes on")
	}
	releaseFirst()
	select {
	case <-released:
		t.Error("the second holder is not waited for")
	default:
	}
	releaseSecond()
	<-released
	if i.Expire() != nil {
		t.Error("all have released, and somebody is waited for")
	}
	var none *Interruption
	finish, release := none.Hold(ctx)
	if finish.Err() != nil {
		t.Error("without a process that would end it, a verb has all the time")
	}
	release()
}
