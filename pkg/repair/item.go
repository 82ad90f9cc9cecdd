// SPDX-License-Identifier: Apache-2.0

// Package repair repairs what an audit found, and undoes that. A plan is a pure function of the result of an audit: a
// list of steps. Adopting an object, which assigns it to the bundle that desires it, is one of them. Apply makes the
// steps through a small interface. A receipt records what an undo needs.
package repair

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Item is one object of a plan: the part that is shown, and the data that a write needs.
type Item struct {
	report.RepairedObject
	// On is the cluster that is written to.
	ClusterID object.ClusterID
	// ResourceVersion is the version of the object that was read for the plan.
	ResourceVersion string
	// Before is the ownership metadata that was read for the plan, After the desired one, of an adoption.
	Before, After ownership.Metadata
	// Unanswered says that the write was interrupted before the server answered. The server may have stored it. The
	// outcome is Failed.
	Unanswered bool
	// Unchanged requires that the object is still that of ResourceVersion when it is written: the plan depends on its
	// fields.
	Unchanged bool

	// makesWay is true if a deploy of the bundle deployment is refused as long as this step is not made.
	makesWay bool
	// do makes the step; nil for one that writes only ownership metadata.
	do maker
	// undo is true if the item undoes a step.
	undo bool
}

// wave is the position of the item: those of a wave are written after those of the previous one. Namespaces and
// definitions of kinds are created before what needs them.
func (i *Item) wave() int {
	out := 2 * slices.Index(remedy.StepKinds(), i.Step)
	if i.Kind != "Namespace" && i.Kind != "CustomResourceDefinition" {
		out++
	}
	if r, ok := i.do.(interface{ first() bool }); ok && r.first() {
		out--
	}
	if i.undo {
		return -out
	}
	return out
}

// actions are what the plan does, by the steps.
var actions = map[remedy.StepKind]report.Action{
	remedy.StepUnblock:  report.ActionUnblock,
	remedy.StepAdopt:    report.ActionAdopt,
	remedy.StepCreate:   report.ActionCreate,
	remedy.StepRestore:  report.ActionRestore,
	remedy.StepRecreate: report.ActionRecreate,
	remedy.StepRemove:   report.ActionRemove,
	remedy.StepResume:   report.ActionResume,
	remedy.StepDeploy:   report.ActionDeploy,
}

// maker makes a step.
type maker interface {
	// prepare reads what the step changes, and asks the server whether it would accept it.
	prepare(ctx context.Context, c Client, i *Item) error
	// try makes the step. It is called again after an error that may be temporary.
	try(ctx context.Context, c Client, i *Item) error
}

// recorder is a step that can be undone.
type recorder interface {
	// record adds what an undo needs.
	record(i *Item, e *Entry)
}

// Options of a plan.
type Options struct {
	Policy ownership.Policy // IfUnowned if it is empty
	// TakeFrom names owners from which objects may be taken: a bundle, a bundle deployment, a set id or a release
	// ("namespace/name").
	TakeFrom []string
	// Pick selects objects; nil selects all. It is called for every desired object.
	Pick func(object.Ref) bool
	// Codes are those of the findings to repair; without any, all are repaired.
	Codes []string
	// Allow are the values of remedy.StepKind.Allowed that are permitted.
	Allow []string
}

// Allowed are the values of Options.Allow.
func Allowed() []string {
	return []string{remedy.StepDeploy.Allowed(), remedy.StepRecreate.Allowed(), remedy.StepRemove.Allowed()}
}

// newItem returns the item of a step that writes a desired object.
func newItem(d *evaluate.BundleDeployment, x *evaluate.Object, step remedy.StepKind) Item {
	out := Item{ClusterID: d.ClusterID, RepairedObject: report.RepairedObject{Ref: x.Ref, Cluster: string(d.ClusterID),
		Step:             step,
		BundleDeployment: d.Key(), Release: d.Ownership.Release(), Action: actions[step]}}
	if x.Live != nil {
		out.UID, out.ResourceVersion = x.Live.UID, x.Live.ResourceVersion
	}
	return out
}

// refuse makes the item one that is not written.
func (i *Item) refuse(reasons ...string) {
	if len(reasons) > 0 {
		i.Action, i.Refusals, i.Effects, i.Overwrites = report.ActionRefuse, append(i.Refusals, reasons...), nil, nil
	}
}

// sortItems orders items by bundle deployment, and then as they are written.
func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.BundleDeployment, b.BundleDeployment),
			cmp.Compare(a.wave(), b.wave()), a.Compare(b.Ref))
	})
}

// Digest identifies a plan without secrets, as it is shown: sha256, in hex, over the objects to write with their
// changes and effects, the notes, the gaps, and whether the fields must be unchanged: a plan of the policy if-no-diff
// does not confirm one of another policy. It excludes what changes all the time without an effect: the times of writes,
// and the details of gaps, which are messages of servers.
func Digest(plan *report.Repair) string {
	h := sha256.New()
	e := json.NewEncoder(h)
	for _, o := range plan.Objects {
		if writes(o.Action) {
			o.Overwrites, o.Restores = withoutTimes(o.Overwrites), withoutTimes(o.Restores)
			_ = e.Encode(o) // encoding these cannot fail
		}
	}
	gaps := slices.Clone(plan.Gaps)
	for i := range gaps {
		gaps[i].Detail = ""
	}
	_ = e.Encode([]any{plan.Notes, gaps, plan.Policy == string(ownership.IfNoDiff)})
	return hex.EncodeToString(h.Sum(nil))
}

func (i *Item) fail(message string) { i.Outcome, i.Message = report.OutcomeFailed, message }

func withoutTimes(differences []report.Difference) []report.Difference {
	out := slices.Clone(differences)
	for i := range out {
		out[i].Time = ""
	}
	return out
}

// Writes says whether the item changes the object.
func (i Item) Writes() bool { return writes(i.Action) }

func writes(a report.Action) bool { return a != report.ActionRefuse && a != report.ActionNone }

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

// Entry is one object of a receipt.
type Entry struct {
	object.Ref
	// Step is what was done; empty in a receipt of adoptions.
	Step remedy.StepKind `json:"step,omitempty"`
	// ClusterUID is the cluster of the object, if it is not that of the header.
	ClusterUID       string `json:"clusterUID,omitempty"`
	UID              string `json:"uid,omitempty"` // before the step; empty if the object did not exist
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	Release          string `json:"release,omitempty"`
	// Before and After are the values of ownership metadata, by key, of an adoption.
	Before map[string]string `json:"before,omitzero"`
	After  map[string]string `json:"after,omitzero"`
	// Forward is the JSON merge patch of a change, and Undo the one that undoes it. Previous is an object that was
	// deleted. A Secret has none of them.
	Forward  json.RawMessage `json:"forward,omitempty"`
	Undo     json.RawMessage `json:"undo,omitempty"`
	Previous object.Content  `json:"previous,omitempty"`

	// Created is the uid of the object that the step created, from the line of its outcome; empty if that is not known.
	Created string `json:"-"`
}

// adopts reports whether the step wrote only ownership metadata.
func (e Entry) adopts() bool { return e.Step == "" || e.Step == remedy.StepAdopt }

// complete says whether an entry has all data that an undo needs, and no key that this version would ignore.
func (e Entry) complete() bool {
	known := func(values map[string]string) bool {
		return values != nil && maps.Equal(values, ownership.FromValues(values).Values())
	}
	switch {
	case e.Name == "" || e.Kind == "":
		return false
	case !e.adopts():
		return true
	}
	return e.UID != "" && known(e.Before) && known(e.After)
}

// outcome is a later line of a receipt: the outcome of the object on line Entry, counted from 1. An undo needs only the
// uid of an object that was created. It excludes the reason of a failure: a policy of the cluster may quote the value
// of a Secret, and only a report can hide that.
type outcome struct {
	Entry      int            `json:"entry"`
	Outcome    report.Outcome `json:"outcome"`
	Unanswered bool           `json:"unanswered,omitempty"` // the server may have stored the write
	Created    string         `json:"created,omitempty"`    // the uid of the object that was created
}

// Client reads and writes live objects. Its errors are those of the API server (apimachinery's api/errors).
type Client interface {
	// Read returns the present metadata of the object.
	Read(ctx context.Context, ref object.Ref) (*object.Meta, error)
	// Patch applies a JSON merge patch with the field manager ownership.FieldManager. It returns the metadata that the
	// server stored.
	Patch(ctx context.Context, ref object.Ref, patch []byte) (*object.Meta, error)
	// Content returns the present object.
	Content(ctx context.Context, ref object.Ref) (object.Content, error)
	// Send writes the object, and returns what the server stored. Nothing is stored if dry is set.
	Send(ctx context.Context, ref object.Ref, as source.Apply, body []byte, dry bool) (object.Content, error)
	// Delete deletes the object if it has the uid. stored is false after a dry run.
	Delete(ctx context.Context, ref object.Ref, uid string) (stored bool, err error)
}

// Clients returns the client of a cluster; nil if it is read from a snapshot.
type Clients func(object.ClusterID) Client

// Concurrency is the maximum number of concurrent writes.
const Concurrency = 8

// requestTimeout limits one request, so that an interrupted adoption does not wait for a server that no longer answers.
const requestTimeout = 30 * time.Second

// temporary are the kinds of errors after which a retry may succeed.
var temporary = []func(error) bool{
	apierrors.IsConflict, apierrors.IsNotFound, apierrors.IsTooManyRequests, apierrors.IsServerTimeout,
	apierrors.IsTimeout, apierrors.IsServiceUnavailable, apierrors.IsInternalError,
}

// refused says whether a retry is useless. All other errors may be temporary, or may follow a stored write: another
// program wrote to the object, it is another object now, or no answer arrived.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	return !slices.ContainsFunc(temporary, func(is func(error) bool) bool { return is(err) })
}

// changedError is an object that is not as it was when the plan was made.
type changedError struct{ what string }

// Error implements error.
func (e changedError) Error() string { return e.what }

// The errors of an object that is gone, or that is another one now.
var (
	errDeleted  = changedError{"it was deleted in the meantime"}
	errReplaced = changedError{"it was deleted and created again in the meantime"}
)

// errLost is a write that the server accepted and did not keep.
var errLost = errors.New("the server accepted the write, but did not keep it: an admission webhook or policy of the " +
	"cluster may have changed it")

// uidOf returns the uid and the resourceVersion of an object.
func uidOf(content object.Content) (uid, version string) {
	metadata, _ := content["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
}

// conditional returns an object, or a patch, as JSON that the server refuses if the live object has another uid or
// version. What is empty does not count.
func conditional(content object.Content, uid, version string) ([]byte, error) {
	stated, _ := content["metadata"].(map[string]any)
	metadata := map[string]any{}
	maps.Copy(metadata, stated)
	if uid != "" {
		metadata["uid"] = uid
	}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	out := object.Content{}
	maps.Copy(out, content)
	out["metadata"] = metadata
	return json.Marshal(out)
}

// final is an error after which a retry is useless.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// captured is why an object on a cluster without a client is not written.
const captured = "its cluster is read from a snapshot, which cannot be written: read the live cluster with --cluster"
