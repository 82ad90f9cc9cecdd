// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Prepare reads what the steps of a plan change, and asks the server whether it accepts them. What the server refuses
// is refused by the plan. Nothing is stored. The error is that of ctx.
func Prepare(ctx context.Context, on Clients, items []Item, allow []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(Concurrency)
	for n := range items {
		i := &items[n]
		c := on(i.On)
		switch {
		case !i.Writes():
			continue
		case c == nil:
			i.refuse(captured)
			continue
		}
		g.Go(func() error {
			i.prepare(ctx, c, allow)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	holdDeploys(items)
	return nil
}

func (i *Item) prepare(ctx context.Context, c Client, allow []string) {
	err := i.maker().prepare(ctx, c, i)
	if r, ok := i.do.(*restoration); ok && apierrors.IsInvalid(err) {
		i.recreate(r.written, err, allow)
		if !i.Writes() {
			return
		}
		err = i.maker().prepare(ctx, c, i)
	}
	changed, isChanged := errors.AsType[changedError](err)
	switch {
	case err == nil:
	case isChanged:
		i.refuse(changed.what)
	case errors.Is(err, compare.ErrNotExact):
		i.refuse(compare.ErrNotExact.Error())
	default:
		i.refuse(fmt.Sprintf("it cannot be verified: %v", err))
	}
}

// recreate makes the item one that deletes its object and creates it: the server refuses the change.
func (i *Item) recreate(w written, why error, allow []string) {
	refuses := fmt.Sprintf("the server refuses to change these fields: %v", why)
	i.Step, i.Action, i.do = remedy.StepRecreate, report.ActionRecreate, &recreation{creation: creation{written: w}}
	i.Effects = append(i.Effects, refuses)
	i.refuse(neverDeleted(i.Ref)...)
	if flag := i.Step.Allowed(); !slices.Contains(allow, flag) {
		i.refuse(refuses + "; to delete the object and create it again needs --allow=" + flag)
	}
}
