// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Server makes dry runs of manifests. Nothing is stored.
type Server interface {
	KindOf(ctx context.Context, gvk schema.GroupVersionKind) (source.Kind, error)
	// MayApply reports whether a ServiceAccount, given by its user name, may patch objects of a kind in a namespace. ""
	// is the user.
	MayApply(ctx context.Context, kind source.Kind, namespace, user string) (bool, error)
	// Get returns the live object.
	Get(ctx context.Context, kind source.Kind, ref object.Ref) (object.Content, error)
	// DryRunApply returns the object after a dry run that applies the manifest server-side, and the server's warnings.
	DryRunApply(ctx context.Context, kind source.Kind, ref object.Ref, manifest []byte, as source.Apply) (
		after object.Content, warnings []string, err error)
}

// checkManager is the field manager of dry runs about differences. It never owns a field.
const checkManager = "fleetdoctor-check"

// ServerCheck selects the objects for which the server makes a dry run.
type ServerCheck string

// The values. Auto checks objects that differ, if the user may patch them. Always checks every live object, without a
// check of permissions.
const (
	CheckAuto   ServerCheck = "auto"
	CheckAlways ServerCheck = "always"
	CheckNever  ServerCheck = "never"
)

// maxRequests is the maximum number of concurrent dry runs.
const maxRequests = 32

// Ask makes a dry run for each object. With CheckAuto, an object that the user may not patch has no answer. The only
// error is that of the context: an error of the server is part of the answer.
func (r *Reader) Ask(ctx context.Context, e *evaluate.Evaluator, server Server, check ServerCheck,
	questions []evaluate.Question) (map[object.CellID]evaluate.Answer, error) {
	out := map[object.CellID]evaluate.Answer{}
	if len(questions) == 0 {
		return out, nil
	}
	r.progress.Start("asking the server about differences")
	q := asking{server: server, evaluator: e, secrets: r.Secrets, check: check,
		allowed: map[string]func() (bool, error){}}
	var mu sync.Mutex // guards out
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(maxRequests)
	for _, o := range questions {
		g.Go(func() error {
			a, asked := q.answer(ctx, o)
			if ctx.Err() != nil || !asked {
				return ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			out[o.Cell()] = a
			return nil
		})
	}
	err := g.Wait()
	return out, err
}

// answer returns the answer about an object, without the objects: there may be as many as the cluster has.
func (q *asking) answer(ctx context.Context, o evaluate.Question) (evaluate.Answer, bool) {
	if o.Deploys() {
		return evaluate.Tried(q.try(ctx, o)), true
	}
	before, after, asked, err := q.ask(ctx, o)
	if o.IsSecret() {
		q.secrets.AddSecret(before)
		q.secrets.AddSecret(after)
	}
	if err != nil {
		return evaluate.Refusal(refusal(err)), asked
	}
	return q.evaluator.Answer(o, before, after), asked
}

// asking makes the dry runs. It requests each permission once.
type asking struct {
	server    Server
	evaluator *evaluate.Evaluator
	secrets   *secret.Values
	check     ServerCheck
	mu        sync.Mutex // guards allowed
	allowed   map[string]func() (bool, error)
}

func (q *asking) ask(ctx context.Context, o evaluate.Question) (before, after object.Content, asked bool, err error) {
	kind, err := q.server.KindOf(ctx, o.GroupVersionKind())
	if err == nil && q.check == CheckAuto {
		var allowed bool
		if allowed, err = q.mayApply(ctx, kind, o.Namespace, ""); err == nil && !allowed {
			return nil, nil, false, nil
		}
	}
	if err == nil {
		before, err = q.server.Get(ctx, kind, o.Ref)
	}
	if err == nil {
		as := source.Apply{Manager: checkManager, Force: true}
		after, _, err = q.server.DryRunApply(ctx, kind, o.Ref, o.Desired.Raw, as)
	}
	return before, after, true, err
}

// try makes a dry run of the next deploy of an object, with the rights of the bundle's ServiceAccount if it has one.
func (q *asking) try(ctx context.Context, o evaluate.Question) evaluate.Trial {
	kind, err := q.server.KindOf(ctx, o.GroupVersionKind())
	if err != nil {
		return evaluate.Trial{NotAsked: "its kind is not served"}
	}
	as := o.Apply()
	if as.As != "" {
		t, asked := q.dryRun(ctx, kind, o, as)
		if asked {
			return t
		}
		switch allowed, err := q.mayApply(ctx, kind, o.Namespace, as.As); {
		case err != nil:
			return evaluate.Trial{NotAsked: "you may neither impersonate its ServiceAccount nor ask for its rights"}
		case !allowed:
			return evaluate.Trial{Refusal: "User " + strconv.Quote(as.As) + " cannot patch " + kind.Resource}
		}
		as.As = ""
	}
	allowed, err := q.mayApply(ctx, kind, o.Namespace, "")
	if err != nil {
		return evaluate.Trial{NotAsked: err.Error()}
	}
	if !allowed {
		return evaluate.Trial{NotAsked: "you may not patch " + kind.Resource}
	}
	t, _ := q.dryRun(ctx, kind, o, as)
	return t
}

// dryRun makes a dry run. asked is false if the user may not impersonate the ServiceAccount.
func (q *asking) dryRun(ctx context.Context, kind source.Kind, o evaluate.Question, as source.Apply) (t evaluate.Trial,
	asked bool) {
	manifest, err := o.Manifest()
	var warnings []string
	if err == nil {
		_, warnings, err = q.server.DryRunApply(ctx, kind, o.Ref, manifest, as)
	}
	if err == nil {
		return evaluate.Trial{Accepted: true, Warnings: shortened(strings.Join(warnings, "; "))}, true
	}
	isForbidden := apierrors.IsForbidden(err)
	switch name, ok := webhookOf(err); {
	case ok:
		return evaluate.Trial{Refusal: evaluate.WebhookFailed + " " + strconv.Quote(name)}, true
	case isForbidden && strings.Contains(err.Error(), "cannot impersonate"):
		return evaluate.Trial{}, false
	case isForbidden && as.As != "": // also if its own rights are missing
		return evaluate.Trial{Refusal: err.Error()}, true
	}
	if why := unasked(err); why != "" {
		return evaluate.Trial{NotAsked: why}, true
	}
	return evaluate.Trial{Refusal: err.Error()}, true
}

// maxWarnings is the length in bytes to which the warnings about one object are shortened.
const maxWarnings = 2 << 10

func shortened(text string) string {
	if len(text) <= maxWarnings {
		return text
	}
	return strings.ToValidUTF8(text[:maxWarnings], "") + "… (shortened)"
}

// webhook finds the name of an admission webhook that could not be called, in the words of an API server. The words
// after it are those of the webhook's server.
var webhook = regexp.MustCompile(evaluate.WebhookFailed + ` "([a-z0-9.-]{1,253})"`)

// webhookOf returns the name of the admission webhook that the server could not call. A deploy gets the same answer.
func webhookOf(err error) (name string, ok bool) {
	if !apierrors.IsInternalError(err) {
		return "", false
	}
	m := webhook.FindStringSubmatch(err.Error())
	if m == nil {
		return "", false
	}
	return m[1], true
}

// unasked returns why an error of a dry run says nothing about the deploy; empty if it is what the deploy will get.
func unasked(err error) string {
	switch text := err.Error(); {
	case apierrors.IsForbidden(err) && strings.Contains(text, "User \""):
		return "you may not create the object"
	case apierrors.IsBadRequest(err) && strings.Contains(text, "dry run"):
		return "an admission webhook does not support dry runs"
	case apierrors.IsNotFound(err):
		return "its namespace does not exist yet"
	case apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return ""
	case strings.Contains(text, "failed to create typed patch object"): // the code of a wrong type is 500
		return ""
	default:
		return "the request failed: " + withoutWords(err)
	}
}

func (q *asking) mayApply(ctx context.Context, kind source.Kind, namespace, user string) (bool, error) {
	key := kind.String() + " " + namespace + " " + user
	q.mu.Lock()
	allowed, ok := q.allowed[key]
	if !ok {
		allowed = sync.OnceValues(func() (bool, error) { return q.server.MayApply(ctx, kind, namespace, user) })
		q.allowed[key] = allowed
	}
	q.mu.Unlock()
	return allowed()
}

// refusal returns the reason why the server did not confirm, as a sentence.
func refusal(err error) string {
	switch {
	case apierrors.IsInvalid(err):
		return "cannot be applied in place: the server refuses the manifest as an update" + causes(err)
	case apierrors.IsForbidden(err):
		return "not confirmed by the server: a dry run is not permitted"
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run"):
		return "not confirmed by the server: an admission webhook does not support dry runs"
	case apierrors.IsNotFound(err):
		return "not confirmed by the server: the object no longer exists"
	}
	return "not confirmed by the server: " + withoutWords(err)
}

// withoutWords describes an error without the words of the server: those of an admission webhook may quote values.
func withoutWords(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Sprintf("it answers with status %d", status.Status().Code)
	}
	return err.Error()
}

// causes returns the fields because of which the server refused a manifest, each with a reason. The server's own
// message may quote values.
func causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		why := string(c.Type)
		if strings.Contains(c.Message, "immutable") {
			why = "immutable"
		}
		if c.Field != "" {
			out = append(out, c.Field+": "+why)
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return " (" + strings.Join(slices.Compact(out), ", ") + ")"
}
