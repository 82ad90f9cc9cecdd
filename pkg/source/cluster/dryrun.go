// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// MayApply asks the server whether a ServiceAccount, given by its user name, may patch objects of a kind in a
// namespace. "" is the user of the client.
func (c *Cluster) MayApply(ctx context.Context, kind source.Kind, namespace, user string) (bool, error) {
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "patch", Group: kind.Group,
		Version: kind.Version, Resource: kind.Resource}
	version := metav1.TypeMeta{APIVersion: authorizationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectAccessReview"}
	resource, review := "selfsubjectaccessreviews", any(authorizationv1.SelfSubjectAccessReview{TypeMeta: version,
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}})
	if user != "" {
		version.Kind = "SubjectAccessReview"
		resource, review = "subjectaccessreviews", authorizationv1.SubjectAccessReview{TypeMeta: version,
			Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: attributes, User: user,
				Groups: groupsOf(user)}}
	}
	body, err := json.Marshal(review)
	if err != nil {
		return false, err
	}
	answer, err := c.do(ctx, c.client.Post().AbsPath(groupVersionPath(authorizationv1.SchemeGroupVersion), resource).
		SetHeader("Content-Type", "application/json").SetHeader("Accept", acceptAll).Body(body))
	var answered struct {
		Status authorizationv1.SubjectAccessReviewStatus `json:"status"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &answered)
	}
	if err != nil {
		return false, fmt.Errorf("asking whether %s may be patched: %w", kind.Resource, err)
	}
	return answered.Status.Allowed, nil
}

// groupsOf returns the groups of a ServiceAccount, by its user name.
func groupsOf(user string) []string {
	account, _ := strings.CutPrefix(user, "system:serviceaccount:")
	namespace, _, _ := strings.Cut(account, ":")
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
}

// Get reads one object.
func (c *Cluster) Get(ctx context.Context, kind source.Kind, ref object.Ref) (object.Content, error) {
	content, _, err := c.content(ctx, at(c.client.Get(), kind, ref.Namespace).Name(ref.Name))
	return content, err
}

// DryRunApply returns the object as it would be if the manifest were applied, and the warnings of the server, which may
// quote values. The server stores nothing. The manifest's kind must be one of Kinds. A user that is impersonated cannot
// impersonate another one: the rights to do so would be those of the real user.
func (c *Cluster) DryRunApply(ctx context.Context, kind source.Kind, ref object.Ref, manifest []byte, as source.Apply) (
	after object.Content, warnings []string, err error) {
	request := c.write(kind, ref, as).Param("fieldManager", as.Manager).Param("dryRun", "All").Body(manifest)
	if as.As != "" && c.as != "" {
		return nil, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "users"}, as.As,
			fmt.Errorf("%s cannot impersonate it, as an impersonated user", c.as))
	}
	if as.As != "" {
		request.SetHeader(authenticationv1.ImpersonateUserHeader, as.As)
	}
	return c.content(ctx, request)
}

// write begins the request that writes an object by a method.
func (c *Cluster) write(kind source.Kind, ref object.Ref, as source.Apply) *rest.Request {
	patch := func(t types.PatchType) *rest.Request {
		request := at(c.client.Patch(t), kind, ref.Namespace).Name(ref.Name)
		if as.Subresource != "" {
			request.SubResource(as.Subresource)
		}
		return request
	}
	switch as.Method {
	case source.Create:
		return at(c.client.Post(), kind, ref.Namespace).SetHeader("Content-Type", "application/json")
	case source.Merge:
		return patch(types.MergePatchType)
	case source.StrategicMerge:
		return patch(types.StrategicMergePatchType)
	}
	return patch(types.ApplyPatchType).Param("force", strconv.FormatBool(as.Force))
}

// content sends a request, and returns the object and the warnings in the answer.
func (c *Cluster) content(ctx context.Context, request *rest.Request) (object.Content, []string, error) {
	answer, warnings, err := c.warned(ctx, request.SetHeader("Accept", acceptAll))
	if err != nil {
		return nil, nil, err
	}
	content, _, err := object.Decode(answer)
	return content, warnings, err
}

// KindOf finds a kind in exactly that version.
func (c *Cluster) KindOf(ctx context.Context, gvk schema.GroupVersionKind) (source.Kind, error) {
	kinds, err := c.Kinds(ctx)
	if err != nil {
		return source.Kind{}, err
	}
	k, f, ok := kinds.Lookup(gvk)
	if !ok {
		return source.Kind{}, fmt.Errorf("finding kind %s: %s", gvk.Kind, f.Detail)
	}
	return k, nil
}

// Writer reads and writes single objects.
type Writer struct {
	*Cluster
	// Manager is the field manager of patches of metadata.
	Manager string
	// DryRun makes the server process each write without storing it.
	DryRun bool
}

// Read returns the present metadata of an object.
func (w *Writer) Read(ctx context.Context, ref object.Ref) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	answer, err := w.do(ctx, at(w.client.Get(), kind, ref.Namespace).Name(ref.Name).SetHeader("Accept", acceptMeta))
	if err != nil {
		return nil, err
	}
	return object.ReadMeta(answer)
}

// Content returns the present object.
func (w *Writer) Content(ctx context.Context, ref object.Ref) (object.Content, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	return w.Get(ctx, kind, ref)
}

// Patch applies a JSON merge patch, and returns the metadata that the server stored.
func (w *Writer) Patch(ctx context.Context, ref object.Ref, patch []byte) (*object.Meta, error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	req := at(w.client.Patch(types.MergePatchType), kind, ref.Namespace).Name(ref.Name).
		Param("fieldManager", w.Manager).SetHeader("Accept", acceptMeta).Body(patch)
	answer, err := w.do(ctx, w.maybe(req))
	var stored *object.Meta
	if err == nil {
		stored, err = object.ReadMeta(answer)
	}
	if err != nil {
		return nil, fmt.Errorf("patching %s: %w", ref.Key(), err)
	}
	return stored, nil
}

// Send writes an object by a method, and returns what the server stored. The server only processes it if dry is set.
func (w *Writer) Send(ctx context.Context, ref object.Ref, as source.Apply, body []byte, dry bool) (object.Content,
	error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	dryRun := &Writer{Cluster: w.Cluster, DryRun: dry || w.DryRun}
	out, _, err := w.content(ctx, dryRun.maybe(w.write(kind, ref, as).Param("fieldManager", as.Manager).Body(body)))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", ref.Key(), err)
	}
	return out, nil
}

// Delete deletes an object if it still has a uid. What it owns is deleted after it.
func (w *Writer) Delete(ctx context.Context, ref object.Ref, uid string) (stored bool, err error) {
	kind, err := w.KindOf(ctx, ref.GroupVersionKind())
	if err != nil {
		return false, err
	}
	id, background := types.UID(uid), metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		TypeMeta:      metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &id}, PropagationPolicy: &background}
	if w.DryRun { // a server ignores the parameters of the address if there is a body
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, err
	}
	req := at(w.client.Delete(), kind, ref.Namespace).Name(ref.Name).SetHeader("Content-Type", "application/json")
	if _, err := w.do(ctx, req.Body(body)); err != nil {
		return false, fmt.Errorf("deleting %s: %w", ref.Key(), err)
	}
	return !w.DryRun, nil
}

// maybe makes a request a dry run if all requests are.
func (w *Writer) maybe(req *rest.Request) *rest.Request {
	if w.DryRun {
		return req.Param("dryRun", "All")
	}
	return req
}
