// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// applies is an API server on which one object may be created. Its first answers are errors.
type applies struct {
	Client
	live     object.Content
	errs     []error
	onlyNew  []bool // of each write
	afterErr func(*applies)
}

func (a *applies) Content(context.Context, object.Ref) (object.Content, error) {
	if a.live == nil {
		return nil, apierrors.NewNotFound(configMaps, "theme")
	}
	return a.live, nil
}

func (a *applies) Read(ctx context.Context, ref object.Ref) (*object.Meta, error) {
	_, err := a.Content(ctx, ref)
	return &object.Meta{}, err
}

func (a *applies) Send(_ context.Context, _ object.Ref, _ source.Apply, body []byte, _ bool) (object.Content, error) {
	content, _, err := object.Decode(body)
	if err != nil {
		return nil, err
	}
	_, version := uidOf(content)
	n := len(a.onlyNew)
	a.onlyNew = append(a.onlyNew, version != "")
	if n < len(a.errs) {
		if a.afterErr != nil {
			a.afterErr(a)
		}
		return nil, a.errs[n]
	}
	if a.live != nil && version != "" {
		return nil, apierrors.NewConflict(configMaps, "theme", errors.New("the object has been modified"))
	}
	a.live = content
	return content, nil
}

// TestCreates creates an object with server-side apply. The server, and not an earlier read, decides that it does not
// exist.
func TestCreates(t *testing.T) {
	const wanted = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"theme","namespace":"web"},` +
		`"data":{"colour":"blue"}}`
	another := func(a *applies) { a.live = object.Content{"metadata": map[string]any{"uid": "u-other"}} }
	equal := func(a *applies) {
		if err := json.Unmarshal([]byte(wanted), &a.live); err != nil {
			t.Fatal(err)
		}
	}
	quota := apierrors.NewConflict(schema.GroupResource{Resource: "resourcequotas"}, "all", errors.New("modified"))
	refusesVersion := apierrors.NewInternalError(errors.New("resourceVersion should not be set on objects to be " +
		"created"))
	lost := errors.New("connection reset")
	for name, tc := range map[string]struct {
		server  applies
		before  func(*applies)
		outcome report.Outcome
		onlyNew []bool
	}{
		"missing":           {outcome: report.OutcomeDone, onlyNew: []bool{true}},
		"exists now":        {before: another, outcome: report.OutcomeChanged, onlyNew: []bool{true}},
		"exists now, equal": {before: equal, outcome: report.OutcomeChanged, onlyNew: []bool{true}},
		"quota": {server: applies{errs: []error{quota, quota}}, outcome: report.OutcomeDone,
			onlyNew: []bool{true, true, true}},
		"version refused": {server: applies{errs: []error{refusesVersion}}, outcome: report.OutcomeDone,
			onlyNew: []bool{true, false}},
		"version refused, exists now": {server: applies{errs: []error{refusesVersion}, afterErr: another},
			outcome: report.OutcomeChanged, onlyNew: []bool{true}},
		"answer lost": {server: applies{errs: []error{lost}, afterErr: equal}, outcome: report.OutcomeDone,
			onlyNew: []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tc.before != nil {
					tc.before(&tc.server)
				}
				d := &evaluate.BundleDeployment{ServerSide: true, BundleDeployment: &desired.BundleDeployment{
					Desired: []*desired.Object{{Raw: []byte(wanted)}}}}
				items := []Item{{RepairedObject: report.RepairedObject{Ref: theme, Step: remedy.StepCreate,
					Action: report.ActionCreate},
					do: &creation{written: written{deployment: d, object: &evaluate.Object{}}}}}
				err := Apply(t.Context(), t.Context(), only(&tc.server), items, func(int) error { return nil })
				if err != nil || items[0].Outcome != tc.outcome {
					t.Errorf("%s %s, %v; want %s", items[0].Outcome, items[0].Message, err, tc.outcome)
				}
				if !slices.Equal(tc.server.onlyNew, tc.onlyNew) {
					t.Errorf("writes that only create: %v, want %v", tc.server.onlyNew, tc.onlyNew)
				}
			})
		})
	}
}
