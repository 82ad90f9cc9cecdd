// SPDX-License-Identifier: Apache-2.0

package auditor_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/test/cluster"
)

// mutation is a random change.
type mutation struct {
	name string
	do   func(t *testing.T, r *rand.Rand)
}

var bundles = []string{"one", "two"}

func pick(r *rand.Rand) (bundle, configMap string) {
	bundle = bundles[r.IntN(len(bundles))]
	return bundle, fmt.Sprintf("%s-%d", bundle, r.IntN(3))
}

var mutations = []mutation{
	{"delete an object", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		_, name := pick(r)
		remove(t, object("v1", "ConfigMap", name))
	}},
	{"restore an object", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, name := pick(r)
		o := object("v1", "ConfigMap", name)
		o.SetLabels(map[string]string{fleet.HashLabel: fleet.Hash(fleet.SetID(bundle, ""))})
		o.SetAnnotations(map[string]string{"objectset.rio.cattle.io/id": fleet.SetID(bundle, "")})
		o.Object["data"] = map[string]any{"key": "value"}
		create(t, o)
	}},
	{"strip an object", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		_, name := pick(r)
		patch(t, object("v1", "ConfigMap", name), `{"metadata":{"labels":{"objectset.rio.cattle.io/hash":null}}}`)
	}},
	{"change an object", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		_, name := pick(r)
		patch(t, object("v1", "ConfigMap", name), fmt.Sprintf(`{"data":{"key":"%d"}}`, r.IntN(2)))
	}},
	{"change a secret", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		patch(t, object("v1", "Secret", bundle), fmt.Sprintf(`{"stringData":{"password":"invented-%d"}}`, r.IntN(9)))
	}},
	{"delete a secret", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		remove(t, object("v1", "Secret", bundle))
	}},
	{"scale a deployment", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		patch(t, object("apps/v1", "Deployment", bundle), fmt.Sprintf(`{"spec":{"replicas":%d}}`, r.IntN(3)))
	}},
	{"create an autoscaler", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		o := object("autoscaling/v2", "HorizontalPodAutoscaler", bundle)
		o.Object["spec"] = map[string]any{"maxReplicas": int64(3), "scaleTargetRef": map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "name": bundle}}
		create(t, o)
	}},
	{"delete an autoscaler", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		remove(t, object("autoscaling/v2", "HorizontalPodAutoscaler", bundle))
	}},
	{"create an orphan", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		o := object("rbac.authorization.k8s.io/v1", "Role", "orphan")
		if r.IntN(2) == 0 {
			o = object("v1", "ConfigMap", "orphan")
		}
		o.SetLabels(map[string]string{fleet.HashLabel: fleet.Hash(fleet.SetID(bundle, ""))})
		create(t, o)
	}},
	{"delete orphans", func(t *testing.T, _ *rand.Rand) {
		t.Helper()
		remove(t, object("rbac.authorization.k8s.io/v1", "Role", "orphan"))
		remove(t, object("v1", "ConfigMap", "orphan"))
	}},
	{"upgrade a release", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		if _, err := shared.Upgrade(t.Context(), options(bundle, 2+r.IntN(2))); err != nil &&
			!strings.Contains(err.Error(), "has no deployed releases") {
			t.Log(err) // an object of the release may have another owner
		}
	}},
	{"contest an object", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		o := options("two", 3)
		o.TakeOwnership = true
		_, name := pick(r)
		o.Manifest += "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {key: value}\n"
		_, _ = shared.Upgrade(t.Context(), o) // it may not exist
	}},
	{"ignore a field", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, name := pick(r)
		pointer := []string{"/data/key", "/data/other"}[r.IntN(2)]
		patch(t, cluster.Object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, bundle),
			fmt.Sprintf(`{"spec":{"options":{"diff":{"comparePatches":[{"apiVersion":"v1","kind":"ConfigMap",
				"namespace":%q,"name":%q,"jsonPointers":[%q]}]}}}}`, apps, name, pointer))
	}},
	{"uninstall a release", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		_ = shared.Uninstall(options(bundle, 3)) // it may not exist
	}},
	{"install a release", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		o := options(bundle, 3)
		o.TakeOwnership = true
		_, _ = shared.Install(t.Context(), o) // it may exist
	}},
	{"write a status", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		reported(t, bundle, 1+r.IntN(3), 4+r.IntN(3))
	}},
	{"delete a bundle deployment", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "BundleDeployment", clusterNamespace, bundle))
	}},
	{"delete a bundle", func(t *testing.T, r *rand.Rand) {
		t.Helper()
		bundle, _ := pick(r)
		remove(t, cluster.Object("fleet.cattle.io/v1alpha1", "Bundle", workspace, bundle))
	}},
}

// TestSameResult checks that the auditor has the result of an audit after each of many random changes, most of them
// several at once, and after a restart.
func TestSameResult(t *testing.T) {
	installed(t)
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	a := begin(t, shared.Config())
	a.equal(shared.Config(), "start")
	var done []string
	for range 60 {
		done = done[:0]
		for range 1 + r.IntN(3) {
			m := mutations[r.IntN(len(mutations))]
			done = append(done, m.name)
			m.do(t, r)
		}
		a.equal(shared.Config(), strings.Join(done, ", "))
		if r.IntN(20) == 0 {
			a = a.restart()
		}
	}
	a.stop()
	if a.count[true] == 0 || a.count[false] == 0 {
		t.Errorf("evaluations of everything and of what changed: %v", a.count)
	}
}

// TestUpgrade checks that an upgrade of one release does not make the auditor evaluate everything again. One of three
// may, if the record of the release changes while it is read.
func TestUpgrade(t *testing.T) {
	installed(t)
	a := begin(t, shared.Config())
	a.equal(shared.Config(), "start")
	const last = 4
	before := a.evaluations(true)
	for revision := 2; revision <= last; revision++ {
		if _, err := shared.Upgrade(t.Context(), options("one", 2)); err != nil {
			t.Fatal(err)
		}
		reported(t, "one", revision, 5)
		a.equal(shared.Config(), "upgrade")
	}
	if n := a.evaluations(true) - before; n > 1 {
		t.Errorf("everything was evaluated %d times because of %d upgrades", n, last-1)
	}
}
