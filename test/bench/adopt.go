// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/repair"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// adoptRound is one round: the bare patches, adopt and its undo. Each writes five keys on every object.
type adoptRound struct {
	Bare  time.Duration `json:"bareNanoseconds"`
	Adopt usage         `json:"adopt"`
	Undo  usage         `json:"undo"`
}

// adoptResult is the measurement at one size.
type adoptResult struct {
	Objects  int          `json:"objects"`
	Releases int          `json:"releases"`
	Rounds   []adoptRound `json:"rounds"`
}

// patcher is the bare loop: only the patches of an adoption, with the same concurrency, over an open connection.
type patcher struct {
	client  metadata.Interface
	objects []objectID
}

// objectID identifies an object.
type objectID struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// newPatcher finds all objects of the releases.
func (b *bench) newPatcher(ctx context.Context) (*patcher, error) {
	client, err := metadata.NewForConfig(b.cluster.Config())
	if err != nil {
		return nil, fmt.Errorf("preparing the connection to the server: %w", err)
	}
	p := &patcher{client: client}
	for _, k := range kinds {
		gvr := schema.ParseGroupResource(k.resource).WithVersion("v1")
		list, err := client.Resource(gvr).List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=bench"})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", k.resource, err)
		}
		for i := range list.Items {
			p.objects = append(p.objects, objectID{gvr, list.Items[i].Namespace, list.Items[i].Name})
		}
	}
	return p, nil
}

// writeOwnership sets or removes the five keys of every object and returns the elapsed time.
func (p *patcher) writeOwnership(ctx context.Context, remove bool) (time.Duration, error) {
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(repair.Concurrency)
	for _, o := range p.objects {
		group.Go(func() error {
			patch, err := ownershipPatch(o.namespace, remove)
			if err != nil {
				return err
			}
			_, err = p.client.Resource(o.resource).Namespace(o.namespace).
				Patch(ctx, o.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "bench"})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return 0, fmt.Errorf("patching: %w", err)
	}
	return time.Since(start), nil
}

// ownershipPatch is the merge patch that sets or removes the ownership metadata of a release, whose name is also
// its namespace.
func ownershipPatch(release string, remove bool) ([]byte, error) {
	id := fleet.SetID(release, "")
	values := ownership.Metadata{SetID: id, Hash: fleet.Hash(id), ManagedBy: "Helm", ReleaseName: release,
		ReleaseNamespace: release}.Values()
	labels, annotations := map[string]any{}, map[string]any{}
	for _, k := range ownership.Keys() {
		into := annotations
		if k.Label {
			into = labels
		}
		if into[k.Name] = values[k.Name]; remove {
			into[k.Name] = nil
		}
	}
	return json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
}

// measureAdoption removes the ownership metadata of all objects and then measures the rounds. Each step starts
// without metadata.
func (b *bench) measureAdoption(ctx context.Context, l *loader) (adoptResult, error) {
	res := adoptResult{Objects: l.objects, Releases: l.releases}
	if err := b.cluster.WriteKubeconfig(b.kubeconfig()); err != nil {
		return res, err
	}
	p, err := b.newPatcher(ctx)
	if err != nil {
		return res, err
	}
	if len(p.objects) != l.objects {
		return res, fmt.Errorf("finding the objects: got %d, want %d", len(p.objects), l.objects)
	}
	if _, err := p.writeOwnership(ctx, true); err != nil {
		return res, err
	}
	for i := range b.options.rounds {
		r, err := b.adoptRound(ctx, p, i)
		if err != nil {
			return res, err
		}
		res.Rounds = append(res.Rounds, r)
		b.progress("round %d of %d: bare %s, adopt %s, undo %s", i+1, b.options.rounds, seconds(r.Bare),
			seconds(r.Adopt.Wall), seconds(r.Undo.Wall))
	}
	return res, nil
}

// adoptRound measures one round.
func (b *bench) adoptRound(ctx context.Context, p *patcher, number int) (adoptRound, error) {
	var r adoptRound
	var err error
	if r.Bare, err = p.writeOwnership(ctx, false); err != nil {
		return r, err
	}
	if _, err := p.writeOwnership(ctx, true); err != nil {
		return r, err
	}
	receipt := filepath.Join(b.dir, fmt.Sprintf("receipt-%d.jsonl", number))
	if r.Adopt, err = b.adopt(ctx, len(p.objects), "--receipt", receipt); err != nil {
		return r, err
	}
	if r.Undo, err = b.adopt(ctx, len(p.objects), "--undo", receipt); err != nil {
		return r, err
	}
	return r, os.Remove(receipt)
}

// adopt runs the product once, as a user would, and checks that it wrote every object.
func (b *bench) adopt(ctx context.Context, objects int, args ...string) (usage, error) {
	u, out, err := execute(ctx, b.product, append([]string{"adopt", "--yes", "-o", "json", "--kubeconfig",
		b.kubeconfig()}, args...)...)
	if err != nil {
		return u, err
	}
	var got struct {
		Summary report.RepairSummary `json:"summary"`
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return u, fmt.Errorf("reading what adopt printed: %w", err)
	}
	if s := got.Summary; s.Done != objects || s.Objects != objects {
		return u, fmt.Errorf("adopting: %d of %d objects were written, want %d", s.Done, s.Objects, objects)
	}
	return u, nil
}

func (r adoptResult) bares() []time.Duration {
	return ascending(r.Rounds, func(r adoptRound) time.Duration { return r.Bare })
}

// overBare are the ratios of objects per second of adopt to those of the bare loop, one for each round, in
// ascending order; undoOverBare those of undo.
func (r adoptResult) overBare() []float64 {
	return ascending(r.Rounds, func(r adoptRound) float64 { return float64(r.Bare) / float64(r.Adopt.Wall) })
}

func (r adoptResult) undoOverBare() []float64 {
	return ascending(r.Rounds, func(r adoptRound) float64 { return float64(r.Bare) / float64(r.Undo.Wall) })
}

func (r adoptResult) of(pick func(adoptRound) usage) []usage {
	out := make([]usage, len(r.Rounds))
	for i := range r.Rounds {
		out[i] = pick(r.Rounds[i])
	}
	return out
}

func adoptOf(r adoptRound) usage { return r.Adopt }

func undoOf(r adoptRound) usage { return r.Undo }
