// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

func (in *pass) noRepo(b *v1alpha1.Bundle) {
	repo, ok := facts.RepoOf(b)
	if !ok || in.Object(repo) != nil || in.Young(b) {
		return
	}
	if !in.Read(repo.Kind, b.Namespace) {
		return
	}
	ref := facts.RefTo(b)
	in.report(Finding{
		Object: ref,
		Message: fmt.Sprintf("bundle %s is of %s %s/%s, which does not exist", facts.Key(b), repo.Kind,
			repo.Namespace, repo.Name),
		Settle: in.Unchanged(ref, repo),
	}, in.Commands.DeleteBundle(ref))
}
