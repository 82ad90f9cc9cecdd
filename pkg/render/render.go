// SPDX-License-Identifier: Apache-2.0

// Package render renders the contents of a bundle to the objects that Fleet's agent would store in the manifest of a
// release, with the same steps as the agent (docs/fleet-behavior.md, 1.3, 1.4, 2.6 and 2.7).
//
// It uses no client, no network and no file: a Cluster answers the lookups of templates. Other data that only a
// cluster or a registry has is a gap, which the Result names. Sizes are limited. The time and the memory of a template
// are not, because nothing within the process can stop a template: package process renders in a separate process.
package render

import (
	"context"
	"errors"
	"slices"
)

// Render renders the bundle twice. cluster answers the lookups of templates; if it is nil, each is a gap. Errors of
// type *Error or *ClusterScopedError mean that the agent would refuse to deploy the bundle. They name the bundle and
// the file, and never quote a value.
func Render(ctx context.Context, in Input, cluster Cluster) (*Result, error) {
	first, err := in.render(ctx, 0, cluster)
	if err != nil {
		return nil, err
	}
	if len(first.Objects) == 0 {
		return first, nil
	}
	second, err := in.render(ctx, 1, cluster)
	if err != nil {
		return nil, err
	}
	if first.Unstable, err = compareRenderings(first.Objects, second.Objects); err != nil {
		return nil, in.fail("", err.Error())
	}
	return first, nil
}

// render renders once. Random values and times differ between the passes.
func (in Input) render(ctx context.Context, pass int, cluster Cluster) (*Result, error) {
	b, err := in.open(pass)
	if err != nil {
		return nil, err
	}
	b.cluster = cluster
	res := b.result
	if b.chartMissing() {
		return res, nil
	}
	if known, err := b.clusterValues(); err != nil || !known {
		return res, err
	}
	if err := b.layOut(); err != nil {
		return nil, err
	}
	if err = b.run(ctx); err == nil {
		if err := b.dryRun(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(b.gaps)
	res.Gaps = append(res.Gaps, slices.Compact(b.gaps)...)
	fault, refused := errors.AsType[*Error](err)
	switch {
	case errors.Is(err, errRemote):
		return res, nil
	case refused && len(res.Gaps) > 0:
		// The missing data may be the cause. The agent has it, and might not fail.
		res.Gaps = append(res.Gaps, "the bundle cannot be rendered without the missing data: "+fault.detail())
		return res, nil
	case err != nil:
		return nil, err
	}
	return res, b.readManifests()
}

// absent is a cluster without objects.
type absent struct{}

// Lookup implements Cluster.
func (absent) Lookup(context.Context, Lookup) Found { return Found{} }

// dryRun returns the error of the dry run that the agent makes before it writes, if lookups find nothing in it.
// Source: docs/fleet-behavior.md, 2.6.
func (b *bundle) dryRun(ctx context.Context) error {
	if _, is := b.cluster.(absent); is || b.pass > 0 {
		return nil
	}
	if !b.asked || b.dryRunAnswers() {
		return nil
	}
	_, err := b.in.render(ctx, b.pass, absent{})
	refused, ok := errors.AsType[*Error](err)
	if !ok {
		return nil
	}
	return b.in.fail(refused.File,
		"the dry run of Fleet's agent, in which lookups find nothing, fails: "+refused.Reason)
}
