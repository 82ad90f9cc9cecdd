// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// Facts are the data of an installation that were read. Data that could not be read have a reason, and never count as
// absent.
type Facts struct {
	Namespace string
	// NamespaceReason is the reason for which the namespace is the default one, although the installation may be in
	// another one; "" if the namespace is known.
	NamespaceReason string

	TakenAt  time.Time
	Manifest Manifest
	Objects  map[object.Key]Reading
}

// Manifest has the objects that the Helm release of an installation desires: none without a release, or if it could not
// be read for the Reason.
type Manifest struct {
	// Release is the release ("namespace/name"), "" without one.
	Release string
	Objects []*unstructured.Unstructured
	Reason  string
}

// Reading is the result of reading an object: nil if it does not exist, or if it could not be read for the Reason.
type Reading struct {
	Object *unstructured.Unstructured
	Reason string
}

// Manifest reads the manifest of a Helm release. An empty name is that of an installation by this program.
func (c *Cluster) Manifest(of Chart, namespace, release string) Manifest {
	helm, err := c.Helm(of, namespace, release)
	if err != nil {
		return Manifest{Reason: ReasonOf(err)}
	}
	m := Manifest{}
	if helm.Last != nil {
		m.Release = helm.namespace + "/" + helm.name
	}
	m.Objects, err = helm.Manifest()
	m.Reason = ReasonOf(err)
	return m
}

// Read reads the objects of the manifest, and further ones, into the facts.
func (c *Cluster) Read(ctx context.Context, f *Facts, further ...object.Ref) {
	f.Objects = map[object.Key]Reading{}
	for _, d := range f.Manifest.Objects {
		further = append(further, RefOf(d))
	}
	for _, ref := range further {
		if _, ok := f.Objects[ref.Key()]; !ok {
			o, err := c.Get(ctx, ref)
			f.Objects[ref.Key()] = Reading{o, ReasonOf(err)}
		}
	}
}

// Deployment is the Deployment of a chart.
func (f *Facts) Deployment(of Chart) Reading {
	return f.Objects[RefTo(DeploymentKind, f.Namespace, of.Name).Key()]
}

// ReasonOf is the short reason why an object could not be read, "" without an error. A kind that the server does not
// have has no objects.
func ReasonOf(err error) string {
	switch {
	case err == nil, meta.IsNoMatchError(err):
		return ""
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsUnauthorized(err):
		return "unauthorized"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "timeout"
	}
	return err.Error()
}
