// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

// TestByHand checks what is advised before a deploy can succeed that an API server refused. The objects of the newest
// revision are known if the deployed one is not recorded.
func TestByHand(t *testing.T) {
	const patch = `Upgrade "guestbook" failed: cannot patch `
	for _, tc := range []struct{ words, command, text string }{
		{patch + `"fixed" with kind ConfigMap: data: Forbidden: field is immutable when it is set`,
			"kubectl -n web delete configmap/fixed", "deletes the object; the next deploy creates it"},
		{patch + `"migrate" with kind Job: spec.template: field is immutable`,
			"kubectl -n web delete job.batch/migrate", "deletes the object, and the pods that it controls"},
		{patch + `"web" with kind Service: spec.ports[1].name: Duplicate value: "http"`,
			"kubectl -n web edit service/web", "Helm merges it by key"},
		{patch + `"web" with kind Service: spec.type: Invalid value`,
			"", "correct the field that the message names"},
		{`failed to create resource: apply failed for object web/new /v1, Kind=ConfigMap: ConfigMap "new" is invalid: ` +
			`metadata.labels: Invalid value`, "", "correct the field that the message names in the bundle"},
		{`apply failed for object /slow scheduling.k8s.io/v1, Kind=PriorityClass: value: Forbidden: may not be changed ` +
			`in an update.`, "", "delete PriorityClass slow, if that loses nothing"},
		{`apply failed for object web/data /v1, Kind=PersistentVolumeClaim: spec: Forbidden: spec is immutable after ` +
			`creation`, "", "a deletion of PersistentVolumeClaim data loses what it has"},
		{`failed to replace object: ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when it is set`,
			"kubectl -n web delete configmap/fixed", "deletes the object; the next deploy creates it"},
		{`apply failed for object web/new /v1, Kind=ConfigMap: failed calling webhook "check.example.com": no endpoints`, "",
			"repair or delete the webhook check.example.com"},
		{`apply failed for object web/x apps/v1, Kind=Deployment: is forbidden: exceeded quota: q, requested: pods=2`,
			"",
			"raise ResourceQuota q of the namespace"},
		{`conflict occurred while applying object web/fixed /v1, Kind=ConfigMap: Apply failed with 1 conflict: conflict ` +
			`with "agent": .data.v`, "", `set helm.force in the fleet.yaml, which takes them from "agent"`},
		{`unable to build kubernetes objects from current release manifest: no matches for kind "Widget"`, "",
			"serve that version of the kind again"},
		{`no matches for kind "Gadget" in version "example.com/v1"`, "", "move it to crds/ of a chart"},
		{"could not get information about the resource: resource name may not be empty", "", "generateName"},
		{`looking up service account agents/deployer: ServiceAccount "deployer" not found`,
			"kubectl -n agents create serviceaccount deployer", "also needs the rights"},
		{`execution error at (x.yaml:1:1): failed calling webhook "other"`, "",
			"set the values that the message names"},
		{`configmaps is forbidden: unable to create new content in namespace web because it is being terminated`,
			"kubectl get namespace/web -o yaml", "what keeps the namespace"},
		{"failed to create typed patch object (web/x; apps/v1, Kind=Deployment): .spec.a: field not declared in " +
			"schema", "", "correct the field that the message names in the bundle"},
		{`failed to create typed patch object (web/one; example.com/v1, Kind=Widget): .spec.a: duplicate entries for ` +
			`key [name="A"]`, "", "correct the field that the message names in the bundle"},
		{"failed to create typed patch object (web/one; example.com/v1, Kind=Widget): .spec.a: field not declared in " +
			"schema", "", "no change of the object helps"},
		{"apply failed for object web/one example.com/v1, Kind=Widget: .spec.a: field not declared in schema", "",
			"no change of the object helps"},
	} {
		d := deployment()
		d.Agent, d.BD.Spec.Options.ServiceAccount = "agents", "deployer"
		for _, r := range []struct{ version, kind, name string }{{"v1", "ConfigMap", "fixed"}, {"v1", "Service", "web"},
			{"batch/v1", "Job", "migrate"}, {"example.com/v1", "Widget", "one"}} {
			d.Newest = append(d.Newest, object.Ref{APIVersion: r.version, Kind: r.kind, Namespace: "web", Name: r.name})
		}
		got, ok := inputOf(d, evaluate.Ready).ByHand(d, tc.words)
		if !ok || got.Command != tc.command || !strings.Contains(got.Text, tc.text) {
			t.Errorf("%s: %+v", tc.words, got)
		}
	}
}

// TestOtherServiceAccount: no step leads to a ServiceAccount that only the words of an error name.
func TestOtherServiceAccount(t *testing.T) {
	const words = `looking up service account kube-system/admin: ServiceAccount "admin" not found`
	d := deployment()
	d.Agent, d.BD.Spec.Options.ServiceAccount = "agents", "deployer"
	if got, ok := inputOf(d, evaluate.Ready).ByHand(d, words); ok {
		t.Errorf("%+v", got)
	}
}

// TestAdoptable: an object without an owner can be adopted, and not one that another tool manages. Without the release
// records of the cluster, the release that an object names may exist.
func TestAdoptable(t *testing.T) {
	const refused = `ConfigMap "one" in namespace "web" exists and cannot be imported into the current release: ` +
		`invalid ownership metadata; `
	d := deployment()
	in := inputOf(d, evaluate.Ready)
	in.Result.Desired.Clusters[0].SetsComplete = false
	for words, want := range map[string]bool{
		"not installed: timed out": false,
		refused + `label validation error: missing key "app.kubernetes.io/managed-by": must be set to "Helm"`: true,
		refused + `label validation error: key "app.kubernetes.io/managed-by" must equal "Helm": current value is ` +
			`"someone"`: false,
		refused + `annotation validation error: key "meta.helm.sh/release-name" must equal "two": current value is ` +
			`"one"`: false,
	} {
		if got := in.adoptable(&d.Deployment, words); got != want {
			t.Errorf("%s: %v", words, got)
		}
	}
}

// TestTakeFields: fields are taken only of an object that the release has and that may differ from it, and not from the
// agent, as which somebody ran Helm by hand.
func TestTakeFields(t *testing.T) {
	words := func(name, manager string) string {
		return fmt.Sprintf("conflict occurred while applying object web/%s /v1, Kind=Service: Apply failed with 2 "+
			"conflicts: conflicts with %q:\n- .spec.selector\n- .spec.type", name, manager)
	}
	same := "conflict occurred while applying object web/front /v1, Kind=Service: Apply failed with 1 conflict: " +
		"conflict with \"agent\": .spec.type"
	d := deployment()
	d.Newest = []object.Ref{{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "added"}}
	inputOf(d, evaluate.Ready, object.Ref{APIVersion: "v1", Kind: "Service", Namespace: "web", Name: "front"})
	if fix, ok := takeFields(d, words("front", "kubectl-edit")); !ok || fix.Step.Object != d.Objects[0].Ref {
		t.Errorf("the object is not restored: %+v", fix)
	}
	for _, said := range []string{words("front", "fleetagent"), words("added", "kubectl-edit"),
		words("other", "kubectl-edit"), same} {
		if fix, ok := takeFields(d, said); ok {
			t.Errorf("%s: %+v", said, fix)
		}
	}
	d.Objects[0].Differences = []evaluate.Difference{{Path: ".spec.type"}}
	if _, ok := takeFields(d, same); !ok {
		t.Error("a field that differs is not restored")
	}
}

// TestCustomResourceNotCorrected checks that correctDrift is not advised for a custom resource, which it does not
// revert, and that a redeploy is not.
func TestCustomResourceNotCorrected(t *testing.T) {
	text := func(all []remedy.Remedy) string {
		var out []string
		for _, r := range all {
			out = append(out, r.Lines()...)
		}
		return strings.Join(out, "; ")
	}
	d := deployment()
	in := inputOf(d, evaluate.Modified, object.Ref{APIVersion: "example.com/v1", Kind: "Widget", Namespace: "web",
		Name: "one"}, object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "two"})
	o := &d.Objects[0]
	for _, got := range []string{text(in.Steps.RestoreOrAccept(d, o)), text(in.Steps.Correct(d, o))} {
		if strings.Contains(got, "correctDrift.enabled") || strings.Contains(got, "deploys the bundle again") {
			t.Errorf("it has no effect on a custom resource: %s", got)
		}
		if !strings.Contains(got, "set helm.force in fleet.yaml") {
			t.Errorf("helm.force is not advised: %s", got)
		}
	}
	d.Desired = append(d.Desired, &desired.Object{Ref: object.Ref{APIVersion: "v1", Kind: "PersistentVolumeClaim"}})
	if got := text(in.Steps.Correct(d, &d.Objects[0])); strings.Contains(got, "set helm.force in fleet.yaml") {
		t.Errorf("helm.force is advised for a bundle with a claim: %s", got)
	}
	if got := text(in.Steps.RestoreOrAccept(d, &d.Objects[1])); !strings.Contains(got, "set correctDrift.enabled") {
		t.Errorf("correctDrift is not advised: %s", got)
	}
}
