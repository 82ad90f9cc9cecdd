// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// tenantPage is the limit of a LIST that looks for a tenant. The first one ends it, and there is little to pass over.
const tenantPage = 20

// inhabited says why a namespace must not be deleted: what is in it that is neither of the installation, nor of every namespace, nor made from
// either; or what could not be looked at. It is empty where nobody else lives there. Only metadata is read. The error is that of the context.
func (c *Cluster) inhabited(ctx context.Context, namespace string, targets []Target) (string, error) {
	kinds, unread, err := c.namespaced(ctx)
	if err != nil {
		return "", err
	}
	l := &lookout{ours: map[types.UID]bool{}}
	for _, t := range targets {
		l.ours[t.UID] = true
	}
	for _, k := range kinds {
		o := metav1.ListOptions{Limit: tenantPage}
		if k.GroupKind() == secretKind.GroupKind() { // tokens go with their accounts, and those are looked at
			o.FieldSelector = "type!=" + string(corev1.SecretTypeServiceAccountToken)
		}
		resource := c.Metadata.Resource(k.GroupVersion().WithResource(k.resource)).Namespace(namespace)
		err := paged(k.Kind, o, func(o metav1.ListOptions) ([]*metav1.PartialObjectMetadata, string, error) {
			page, err := resource.List(ctx, o)
			if err != nil {
				return nil, "", err
			}
			return pointers(page.Items), page.GetContinue(), nil
		}, func(m *metav1.PartialObjectMetadata) error { return l.look(k, m) })
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, errTenant):
			return foreignText(l.tenant), nil
		case err != nil:
			what := schema.GroupResource{Group: k.Group, Resource: k.resource}
			unread = append(unread, what.String()+reasonOf(errors.Unwrap(err))) // without that it was listed, which is said already
		}
	}
	if len(unread) > 0 { // an owner may be among it
		return "whether somebody else lives in it is not known, as this could not be listed: " + shortened(unread), nil
	}
	if lodger := l.lodger(); lodger != nil {
		return foreignText(*lodger), nil
	}
	return "", nil
}

func foreignText(r object.Ref) string {
	return "it holds what is not of this webhook: " + r.Key().String()
}

// listable is a kind whose objects are in namespaces, and where they are listed.
type listable struct {
	schema.GroupVersionKind
	resource string
}

// namespaced discovers the kinds whose objects may be in a namespace, but those that tell nothing of who lives there; and names those groups that
// did not answer.
func (c *Cluster) namespaced(ctx context.Context) (kinds []listable, unread []string, err error) {
	lists, err := discovery.ServerPreferredNamespacedResourcesWithContext(ctx, c.Discovery)
	var failed *discovery.ErrGroupDiscoveryFailed
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case errors.As(err, &failed):
		for _, gv := range slices.SortedFunc(maps.Keys(failed.Groups), func(a, b schema.GroupVersion) int { return cmp.Compare(a.String(), b.String()) }) {
			if !derived(gv.Group, "") {
				unread = append(unread, "all of "+gv.String()+reasonOf(failed.Groups[gv]))
			}
		}
	case err != nil:
		return nil, []string{"anything" + reasonOf(err)}, nil
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			unread = append(unread, "all of "+list.GroupVersion)
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !derived(gv.Group, r.Kind) {
				kinds = append(kinds, listable{gv.WithKind(r.Kind), r.Name})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b listable) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.resource, b.resource))
	})
	return kinds, unread, nil
}

// derived says whether the objects of a kind only tell of others, which are looked at themselves: Events, and what is measured of Pods. The latter's
// group is often the one that does not answer.
func derived(group, kind string) bool {
	return group == "metrics.k8s.io" || strings.HasSuffix(group, ".metrics.k8s.io") || kind == "Event" && (group == "" || group == "events.k8s.io")
}

// lookout tells the objects of a namespace apart.
type lookout struct {
	ours map[types.UID]bool
	// owned have owners of whom it is not known yet whose they are.
	owned  []owned
	tenant object.Ref
}

type owned struct {
	object.Ref
	uid    types.UID
	owners []types.UID
}

// errTenant ends a look around early.
var errTenant = errors.New("somebody else lives there")

// look takes an object in. It returns errTenant where that is somebody else's, whatever comes after it.
func (l *lookout) look(k listable, m *metav1.PartialObjectMetadata) error {
	ref := object.Ref{APIVersion: k.GroupVersion().String(), Kind: k.Kind, Namespace: m.Namespace, Name: m.Name}
	switch {
	case m.Labels[NameLabel] == Name, m.UID != "" && l.ours[m.UID]:
		l.ours[m.UID] = true
	case ofEvery(k, m), ofService(k, m), ofCertManager(k, m):
	case len(m.OwnerReferences) > 0:
		o := owned{Ref: ref, uid: m.UID}
		for _, owner := range m.OwnerReferences {
			o.owners = append(o.owners, owner.UID)
		}
		l.owned = append(l.owned, o)
	default:
		l.tenant = ref
		return errTenant
	}
	return nil
}

// lodger is an object that belongs to somebody else, nil where there is none. What has no owners but ours is ours, and so on down.
func (l *lookout) lodger() *object.Ref {
	for {
		rest := slices.DeleteFunc(slices.Clone(l.owned), func(o owned) bool {
			if slices.ContainsFunc(o.owners, func(u types.UID) bool { return !l.ours[u] }) {
				return false
			}
			l.ours[o.uid] = true
			return true
		})
		switch len(rest) {
		case 0:
			return nil
		case len(l.owned):
			return &rest[0].Ref
		}
		l.owned = rest
	}
}

// ofEvery says whether an object is in every namespace.
func ofEvery(k listable, m *metav1.PartialObjectMetadata) bool {
	return k.Group == "" && (k.Kind == "ServiceAccount" && m.Name == "default" || k.Kind == "ConfigMap" && m.Name == "kube-root-ca.crt")
}

// ofService says whether an object holds the addresses of our Service. They carry its labels, but for those that somebody made by hand.
func ofService(k listable, m *metav1.PartialObjectMetadata) bool {
	return k.Group == "" && k.Kind == "Endpoints" && m.Name == Name ||
		k.Group == discoveryv1.GroupName && k.Kind == "EndpointSlice" && m.Labels[discoveryv1.LabelServiceName] == Name
}

// ofCertManager says whether a Secret is what cert-manager made of a Certificate of ours. It has no owner and not our label, and is of no use to
// anybody else.
func ofCertManager(k listable, m *metav1.PartialObjectMetadata) bool {
	certificate := m.Annotations["cert-manager.io/certificate-name"]
	return k.Group == "" && k.Kind == secretKind.Kind && (certificate == Name && m.Name == SecretName || certificate == authorityName && m.Name == authorityName)
}

// authorityName is the Certificate of the authority that cert-manager makes for the webhook, and the Secret of it.
const authorityName = Name + "-ca"

// reasonOf is why something could not be listed, in few words.
func reasonOf(err error) string {
	if apierrors.IsForbidden(err) {
		return " (forbidden)"
	}
	return fmt.Sprintf(" (%v)", err)
}

// shortened joins texts, as many as can be taken in.
func shortened(texts []string) string {
	const most = 5
	if n := len(texts) - most; n > 1 {
		texts = append(slices.Clone(texts[:most]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(texts, ", ")
}
