// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/compare"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/health"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Server can be asked what it would make of a manifest. Nothing is stored.
type Server interface {
	KindOf(ctx context.Context, gvk schema.GroupVersionKind) (source.Kind, error)
	// MayApply says whether we may ask for a kind in a namespace.
	MayApply(ctx context.Context, kind source.Kind, namespace string) (bool, error)
	// Get returns the object as it is.
	Get(ctx context.Context, kind source.Kind, ref object.Ref) (object.Content, error)
	// DryRunApply returns what the object would be if the manifest were applied over it.
	DryRunApply(ctx context.Context, kind source.Kind, ref object.Ref, manifest []byte) (object.Content, error)
}

// ServerCheck says when the server is asked.
type ServerCheck string

// The choices. Auto asks about objects that differ, if we may; always asks about every object that is there, without asking first whether
// we may.
const (
	CheckAuto   ServerCheck = "auto"
	CheckAlways ServerCheck = "always"
	CheckNever  ServerCheck = "never"
)

// confirm asks the server about the suspects: a manifest that changes nothing when applied is no drift, whatever it looked like.
func (l *live) confirm(ctx context.Context) error {
	if len(l.suspects) == 0 {
		return nil
	}
	l.counter.start("asking the server about differences")
	c := confirmer{live: l, may: map[string]*permission{}}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(mostAsked)
	for _, s := range l.suspects {
		if l.ServerCheck == CheckAuto && s.object.State != report.Modified {
			continue // an autoscaler accounted for it
		}
		g.Go(func() error { return c.one(ctx, s) })
	}
	return g.Wait()
}

// mostAsked bounds how many suspects wait for an answer at once: with --server-check=always every object is one.
const mostAsked = 32

type confirmer struct {
	*live
	permissions sync.Mutex // guards may
	may         map[string]*permission
}

// permission is the answer for one kind in one namespace, asked for once.
type permission struct {
	once    sync.Once
	allowed bool
	err     error
}

// one confirms one suspect. Its error is the context's alone; what the server said against being asked is written beside the verdict.
func (c *confirmer) one(ctx context.Context, s suspect) error {
	kind, err := c.Server.KindOf(ctx, s.object.GroupVersionKind())
	if err == nil && c.ServerCheck == CheckAuto {
		var allowed bool
		if allowed, err = c.mayApply(ctx, kind, s.object.Namespace); err == nil && !allowed {
			return ctx.Err() // the offline verdict stands; auto asks only where it may
		}
	}
	var before, after object.Content
	if err == nil {
		before, err = c.Server.Get(ctx, kind, s.object.Ref)
	}
	if err == nil {
		after, err = c.Server.DryRunApply(ctx, kind, s.object.Ref, s.raw)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.note(s, refusal(err))
		return nil
	}
	c.verdict(s, before, after)
	return nil
}

func (c *confirmer) mayApply(ctx context.Context, kind source.Kind, namespace string) (bool, error) {
	key := kind.String() + " " + namespace
	c.permissions.Lock()
	p, ok := c.may[key]
	if !ok {
		p = &permission{}
		c.may[key] = p
	}
	c.permissions.Unlock()
	p.once.Do(func() { p.allowed, p.err = c.Server.MayApply(ctx, kind, namespace) })
	return p.allowed, p.err
}

// verdict settles a suspect by what applying its manifest would change, as far as the bundle and its autoscaler care.
func (c *confirmer) verdict(s suspect, before, after object.Content) {
	o := s.object
	seen, applied := before, after
	if rules := c.rules[o.Deployment]; compare.Applies(rules, o.Ref) {
		b, bErr := compare.Apply(rules, o.Ref, before)
		a, aErr := compare.Apply(rules, o.Ref, after)
		if bErr == nil && aErr == nil {
			seen, applied = b, a
		}
	}
	if o.State != report.Modified { // only asked about with --server-check=always
		c.overlooked(o, seen, applied)
		return
	}
	paths := slices.DeleteFunc(changed(seen, applied), func(path string) bool { return path == replicasPath && c.scaledAway(o) })
	if len(paths) > 0 {
		c.note(s, "confirmed by the server: applying the manifest would change it")
		return
	}
	o.Differences = nil
	v := health.Judge(before, ignored(o.Deployment), c.now)
	o.State, o.NotReady, o.Condition, o.Message = report.Ready, !v.Ready, v.Condition.String(), ""
	if !v.Ready {
		o.State, o.Message = report.NotReady, strings.Join(v.Messages, "; ")
	}
}

// overlooked looks for drift in an object without differences: what the manifest would make of it is held against what it is. That is
// judged as every comparison is, for applying also takes back what others may add.
func (c *confirmer) overlooked(o *check.Object, before, after object.Content) {
	if isSecret(o.Ref) {
		c.hide(before)
		c.hide(after)
	}
	value := valuesOf(o.Ref, after, before)
	for _, d := range compare.Objects(after, before, o.GroupVersionKind()) {
		if d.Path.String() == replicasPath && c.scaledAway(o) {
			continue
		}
		diff := difference(d, &compare.Managers{}, value)
		diff.Note = "applying the manifest would change it"
		o.Differences = append(o.Differences, diff)
	}
	if len(o.Differences) > 0 {
		o.State = report.Modified
	}
}

// scaledAway says whether an object differed in replicas, and an autoscaler accounted for it.
func (c *confirmer) scaledAway(o *check.Object) bool {
	return slices.ContainsFunc(c.scaled, func(s suspect) bool { return s.object == o }) &&
		!slices.ContainsFunc(o.Differences, func(d report.Difference) bool { return d.Path == replicasPath })
}

func (c *confirmer) note(s suspect, text string) {
	o := s.object
	if o.Message == "" || o.State == report.Modified {
		o.Message = text
	}
}

// refusal says why the server did not confirm.
func refusal(err error) string {
	switch {
	case apierrors.IsInvalid(err):
		return "cannot be applied in place: the server refuses the manifest as an update" + causes(err)
	case apierrors.IsForbidden(err):
		return "not confirmed by the server: a dry run is not permitted"
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "dry run"):
		return "not confirmed by the server: an admission webhook does not support dry runs"
	case apierrors.IsNotFound(err):
		return "not confirmed by the server: the object is gone by now"
	}
	return fmt.Sprintf("not confirmed by the server: %v", err)
}

// causes names the fields for which the server refused a manifest, and why in a word. Its own words may quote values.
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

// bookkeeping is what every write changes in metadata, whatever it applies.
var bookkeeping = []string{"managedFields", "resourceVersion", "generation"}

// changed names the top-level fields, and those of spec, in which two states of an object differ.
func changed(before, after object.Content) []string {
	strip := func(c object.Content) object.Content {
		c = maps.Clone(c)
		meta, _ := c["metadata"].(map[string]any)
		meta = maps.Clone(meta)
		for _, name := range bookkeeping {
			delete(meta, name)
		}
		c["metadata"] = meta
		delete(c, "status")
		return c
	}
	before, after = strip(before), strip(after)
	var out []string
	for _, top := range sortedKeys(merge(before, after)) {
		b, bOK := before[top].(map[string]any)
		a, aOK := after[top].(map[string]any)
		if !bOK || !aOK {
			if !reflect.DeepEqual(before[top], after[top]) {
				out = append(out, "."+top)
			}
			continue
		}
		for _, name := range sortedKeys(merge(b, a)) {
			if !reflect.DeepEqual(b[name], a[name]) {
				out = append(out, "."+top+"."+name)
			}
		}
	}
	return slices.Compact(out)
}

func merge(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
