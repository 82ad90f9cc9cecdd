// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// request asks a controller or an agent of Fleet, through a field of one of Fleet's objects.
type request struct {
	step remedy.Step
	undo json.RawMessage
}

func (r *request) prepare(ctx context.Context, client Client, i *Item) error {
	before, err := client.Content(ctx, i.Ref)
	if err != nil {
		return err
	}
	i.UID, _ = uidOf(before)
	if r.step.Kind != remedy.StepDeploy {
		r.undo, err = compare.Inverse(before, []byte(r.step.Patch))
	}
	return err
}

func (r *request) try(ctx context.Context, client Client, i *Item) error {
	content, _, err := object.Decode([]byte(r.step.Patch))
	if err != nil {
		return err
	}
	body, err := conditional(content, i.UID, "")
	if err != nil {
		return err
	}
	_, err = client.Send(ctx, i.Ref, source.Apply{Method: source.Merge, Manager: ownership.FieldManager,
		Subresource: r.step.Subresource}, body, false)
	return err
}

func (r *request) record(_ *Item, e *Entry) {
	if r.undo != nil {
		e.Forward, e.Undo = json.RawMessage(r.step.Patch), r.undo
	}
}

// first reports whether another step depends on this one.
func (r *request) first() bool { return r.step.Then }
