// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// NoRepo returns the finding that the GitRepo or HelmOp of a Bundle does not exist, if that is so.
func (in *Input) NoRepo(b *v1alpha1.Bundle) (f Finding, ok bool) {
	repo, ok := facts.RepoOf(b)
	if !ok || in.Facts.Object(repo) != nil || in.Facts.Young(b) {
		return f, false
	}
	ref := facts.RefTo(b)
	return Finding{
		Object: ref,
		Message: fmt.Sprintf("bundle %s is of %s %s/%s, which does not exist", facts.Key(b), repo.Kind,
			repo.Namespace, repo.Name),
		Settle:   in.Facts.Unchanged(ref, repo),
		Remedies: only(in.Steps.Commands.DeleteBundle(ref)),
	}, in.Facts.Read(repo.Kind, b.Namespace)
}
