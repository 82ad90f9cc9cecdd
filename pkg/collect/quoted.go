// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// QuotedOptions select the values of Secrets that must not be shown.
type QuotedOptions struct {
	// Quotes are the texts of the document.
	Quotes *secret.Quotes
	// Except are values that are not secret.
	Except map[string]bool
	// HelmValues are the Secrets ("namespace/name") that valuesFrom of a bundle names.
	HelmValues map[string]bool
	// Namespaces are listed if listing all of them is forbidden.
	Namespaces []string
	// Memory has what earlier searches of the same cluster found; nil if nothing is remembered.
	Memory *SecretMemory
}

// QuotedSecrets lists all Secrets except release records and adds the values that the document may quote. The
// coverage does not include a namespace in which another program masked values.
func (r *Reader) QuotedSecrets(ctx context.Context, o QuotedOptions) (source.Coverage, error) {
	r.progress.Start("reading Secrets, to hide their values")
	q := source.Query{Kind: secretKind, FieldSelector: "type!=" + release.SecretType, Fallback: o.Namespaces}
	search := newSearch(o.Memory, o.Quotes, o.HelmValues)
	if o.Memory != nil {
		q.Remembered = search.remembered
	}
	masked := map[string]bool{}
	cover, err := r.list(ctx, q, func(s source.Object) error {
		if s.Remembered {
			return nil
		}
		content, _, err := object.Decode(s.Raw)
		if err != nil {
			return err
		}
		meta, err := s.ReadMeta()
		if err != nil {
			return err
		}
		m := meta.Metadata
		secretType := content["type"]
		helmValues := secretType == values.BundleType || secretType == values.DeploymentType ||
			o.HelmValues[m.Namespace+"/"+m.Name]
		if search.mayQuote(meta, content, helmValues) {
			r.Secrets.AddQuoted(content, o.Quotes, o.Except, helmValues)
		}
		if r.Description.Partial() && secret.MaskedSecret(content) {
			masked[m.Namespace] = true
		}
		return nil
	})
	search.end()
	for namespace := range masked {
		cover = cover.With(namespace, &source.Failure{Reason: source.NotInSnapshot,
			Detail: "the values of a Secret are masked"})
	}
	return cover, err
}
