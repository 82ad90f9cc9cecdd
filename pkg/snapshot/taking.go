// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/audit"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/collect"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	format "github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source/snapshot"
)

// taking is one call of Take.
type taking struct {
	source.Source
	options     Options
	masker      *secret.Masker
	fields      fields
	description source.Description
	kinds       *source.Kinds
	found       *audit.Audit
	named       map[release.Name]bool // the revisions that bundle deployments name
	valuesFrom  map[string]bool       // the Secrets ("namespace/name") that valuesFrom of bundles names
	plan        []capture
	learned     source.Coverage // of the Secrets whose values are known
	results     source.Unmasked
	masked      int // objects with values of Secrets
	manifest    format.Manifest
	progress    collect.Meter
}

// Options of a snapshot.
type Options struct {
	// Namespace is a workspace that is read too if reading all namespaces is forbidden.
	Namespace string
	// Bundles is true if the payloads of bundles are captured too: their files and Helm values.
	Bundles bool
	// SameMasks is true if equal values have equal masks in all objects.
	SameMasks bool
	// Version is the version of the program.
	Version string
	// Renderer and Pause are those of the audit that shows what must be read.
	Renderer collect.Renderer
	Pause    func(context.Context) error
	// Progress receives the progress; nil if it is not needed.
	Progress func(collect.Progress)
}
