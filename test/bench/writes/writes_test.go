// SPDX-License-Identifier: Apache-2.0

package writes

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
)

func TestOrder(t *testing.T) {
	for round, want := range [][]Variant{
		{None, Again, NoOp, Constant, Ours}, {Ours, Constant, NoOp, Again, None},
		{Again, NoOp, Constant, Ours, None}, {None, Ours, Constant, NoOp, Again},
	} {
		if diff := cmp.Diff(want, order(variants(), round)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
	if diff := cmp.Diff(order(variants(), 0), order(variants(), 10)); diff != "" {
		t.Errorf("after every order was used (-want +got):\n%s", diff)
	}
}

func TestPercentile(t *testing.T) {
	var took []time.Duration
	for i := range 400 {
		took = append(took, time.Duration(i+1))
	}
	if p50, p99 := percentile(took, 0.50), percentile(took, 0.99); p50 != 200 || p99 != 396 {
		t.Errorf("p50 %d, p99 %d; want 200 and 396", p50, p99)
	}
	if one := percentile(took[:1], 0.50); one != 1 {
		t.Errorf("of one figure: %d, want 1", one)
	}
}

func TestBodies(t *testing.T) {
	for _, traffic := range Traffics() {
		for _, op := range Operations() {
			bodies, err := traffic.bodies(op, 12)
			if err != nil {
				t.Fatal(err)
			}
			for i, body := range bodies {
				var o metav1.PartialObjectMetadata
				if err := json.Unmarshal(body, &o); err != nil {
					t.Fatal(err)
				}
				if got, want := ownership.MetadataOf(o.Labels, o.Annotations), traffic.written(); got != want ||
					o.Name != objectName(i) || len(body) != objectBytes {
					t.Errorf("%s %s %d: %s of %d bytes with %+v, want %d bytes with %+v", traffic, op, i, o.Name,
						len(body), got, objectBytes, want)
				}
			}
		}
	}
}

func TestFill(t *testing.T) {
	r, err := fill(1000, 3)
	if err != nil {
		t.Fatal(err)
	}
	if objects, releases, damaged := r.Size(); objects != 1003 || releases != 3 || damaged != 0 {
		t.Errorf("%d objects, %d releases, %d damaged; want 1003, 3 and none", objects, releases, damaged)
	}
	owners := r.Lookup(object.Key{Kind: "ConfigMap", Namespace: Ours.namespace(), Name: objectName(2)})
	if len(owners) != 1 || owners[0].Metadata != fullMetadata() {
		t.Errorf("owners %+v, want one with %+v", owners, fullMetadata())
	}
	if owners := r.Lookup(object.Key{Kind: "ConfigMap", Namespace: None.namespace(),
		Name: objectName(2)}); len(owners) != 0 {
		t.Errorf("objects of the variant without a webhook: %+v", owners)
	}
}
