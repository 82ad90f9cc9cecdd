// SPDX-License-Identifier: Apache-2.0

package check

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/facts"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/directory"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/evaluate"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/values"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/release"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/secret"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/state"
)

// TestCatalogue compares codes, names and severities with the design, and requires an explanation of every check.
func TestCatalogue(t *testing.T) {
	want := map[string]Severity{
		"FD101 Missing": Error, "FD102 Unowned": Error, "FD103 Contested": Error, "FD104 Modified": Warning,
		"FD105 Orphaned":  Warning,
		"FD106 Abandoned": Warning, "FD107 NotReady": Warning, "FD108 IdMismatch": Info, "FD109 CopiedHash": Info,
		"FD110 NamespaceMeta":    Warning,
		"FD111 ExpiredJob":       Info,
		"FD201 DeploymentCounts": Warning, "FD202 BundleSummary": Warning, "FD203 RepoResources": Warning,
		"FD204 RepoClusters": Warning, "FD205 ClusterCounts": Warning,
		"FD206 GroupCounts": Warning, "FD207 Truncated": Info, "FD208 Frozen": Info, "FD209 Contradiction": Warning,
		"FD301 Leftover": Error, "FD302 Absent": Error, "FD303 Orphan": Error, "FD304 NoRepo": Warning,
		"FD305 NoTargets":     Info,
		"FD306 TargetError":   Error,
		"FD401 ValuesPending": Info, "FD402 ValuesMissing": Error, "FD403 ValuesMismatch": Error,
		"FD404 BundleValues": Error, "FD405 ValuesLeftover": Info,
		"FD406 CopyMissing":  Warning,
		"FD501 WillReimport": Warning, "FD502 AgentStale": Warning, "FD503 AgentNeverSeen": Warning,
		"FD504 ScopeUnproven":  Warning,
		"FD601 ContentMissing": Error, "FD602 ReleaseRecord": Error, "FD603 StuckDeletion": Warning,
		"FD604 NotApplied": Error, "FD605 RepoNotFollowed": Warning,
		"FD606 LeftoverRelease": Warning, "FD607 Unread": Warning, "FD608 WillUninstall": Error,
		"FD609 NotCorrected": Warning, "FD610 NotProcessed": Error,
		"FD611 ReportedNotReady": Warning, "FD612 ScaledOutside": Warning, "FD613 WaitsForPause": Warning,
		"FD614 DeployedNowhere": Warning,
		"FD701 SecretInStatus":  Error, "FD702 ComparePatch": Warning, "FD703 LargeBundle": Info,
		"FD704 Hazard":      Warning,
		"FD705 Unconfirmed": Warning,
	}
	got := map[string]Severity{}
	var codes []string
	for _, c := range Catalogue() {
		if got[c.Code+" "+c.Name] != "" {
			t.Errorf("%s is in the catalogue twice", c.Code)
		}
		got[c.Code+" "+c.Name] = c.Severity
		codes = append(codes, c.Code)
		if !regexp.MustCompile(`^FD([1-7]0[1-9]|11[01]|61[0-4])$`).MatchString(c.Code) ||
			!regexp.MustCompile(`^[A-Z][A-Za-z]+$`).MatchString(c.Name) {
			t.Errorf("%s %s is not a code and a name", c.Code, c.Name)
		}
		if c.Title == "" || strings.HasSuffix(c.Title, ".") {
			t.Errorf("%s: a title has no full stop: %q", c.Code, c.Title)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("catalogue (-want +got):\n%s", diff)
	}
	if !slices.IsSorted(codes) {
		t.Errorf("the codes are not in order: %v", codes)
	}
}

// deployment is the input of the checks for one bundle deployment.
func deployment() *evaluate.BundleDeployment {
	bd := &v1alpha1.BundleDeployment{}
	bd.Namespace, bd.Name = "cluster-one", "guestbook"
	d := directory.Deployment{
		Placed:    true,
		Namespace: "cluster-one",
		Name:      "guestbook",
		BD:        bd,
		Bundle:    "fleet-local/guestbook",
		GitRepo:   "fleet-local/apps",
		Release:   release.Name{Namespace: "web", Name: "guestbook", Revision: 1},
		Ownership: ownership.Desired("default-guestbook", "guestbook", "web"),
	}
	return &evaluate.BundleDeployment{BundleDeployment: &desired.BundleDeployment{Deployment: d}}
}

// desiredStateOf is the desired state of bundle deployments on one cluster.
func desiredStateOf(all ...*desired.BundleDeployment) *desired.State {
	on := &directory.Cluster{SetsComplete: true, State: &state.Cluster{}}
	if tag := all[0].AgentVersion; tag != "" {
		on = resolveWithAgent(tag)
	}
	in := &directory.Directory{Fleet: &state.Fleet{}, Clusters: []*directory.Cluster{on}}
	for _, d := range all {
		in.Deployments = append(in.Deployments, &d.Deployment)
	}
	return desired.IndexState(in, all)
}

// inputOf is the input of one bundle deployment with desired objects in a state.
func inputOf(d *evaluate.BundleDeployment, in evaluate.State, refs ...object.Ref) *Input {
	for _, ref := range refs {
		o := &desired.Object{Ref: ref, Deployment: d.ID()}
		d.Objects = append(d.Objects, evaluate.Object{Ref: ref, Deployment: d.ID(), State: in})
		d.Desired = append(d.Desired, o)
	}
	result := evaluate.NewResult(evaluate.Result{Whole: true, Desired: desiredStateOf(d.BundleDeployment),
		Deployments: []*evaluate.BundleDeployment{d}})
	return New(facts.New(result, &secret.Quotations{}), remedy.Commands{Audit: "kubectl fleetdoctor audit",
		Adopt: "kubectl fleetdoctor adopt", Repair: "kubectl fleetdoctor repair",
		Preflight: "kubectl fleetdoctor preflight", Kubectl: "kubectl",
		Helm: "helm"}, nil)
}

// renew computes the facts again, after a test has changed the result.
func renew(in *Input) *Input {
	return New(facts.New(in.Result, in.Facts.Quotations), in.Steps.Commands, in.Steps.ClusterCommands)
}

// findings are those of one code.
func findings(code string, in *Input) []Finding {
	return slices.DeleteFunc(Run(renew(in)), func(f Finding) bool { return f.Code != code })
}

// TestCommandsAreQuoted checks that no name can end a suggested command and begin another one, because users paste the
// commands into a shell. The name of a role can contain nearly any character, and a capture any text: `kubectl delete
// clusterrole.../x;reboot`.
func TestCommandsAreQuoted(t *testing.T) {
	const name = "edge; $(reboot) `reboot` | sh & > x"
	ref := object.Ref{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: name}
	reported, commands := map[string]bool{}, map[string]bool{}
	for _, s := range []evaluate.State{evaluate.Missing, evaluate.Unowned, evaluate.Modified, evaluate.NotReady,
		evaluate.Ready} {
		d := deployment()
		d.GitRepo, d.Bundle, d.Name = "fleet-local/"+name, "fleet-local/"+name, name
		d.BD.Name, d.BD.Status.ModifiedStatus = name, []v1alpha1.ModifiedStatus{{APIVersion: "v1", Kind: "Secret",
			Name: name, Patch: "{"}}
		d.Ownership.SetID = name
		in := inputOf(d, s, ref)
		in.Result.Deployments[0].Objects[0].IDMismatch = true
		d.RecordProblems = []directory.RecordProblem{{Record: d.Release, Status: "failed"}}
		d.Orphans = []evaluate.Undesired{{Ref: ref, Metadata: ownership.Metadata{Hash: d.Ownership.Hash}}}
		in.Result.Undesired = []evaluate.Undesired{{Ref: ref,
			Metadata: ownership.Metadata{Hash: "other", SetID: "default-gone"}}}
		in.Result.Desired.Clusters[0].Leftovers = []*state.Record{{Record: release.Record{Name: release.Name{
			Namespace: "web", Name: name,
			Revision: 1}}}}
		missingValues(d, in)
		for _, f := range Run(renew(in)) {
			for _, r := range f.Remedies {
				if strings.Contains(r.Command, name) {
					commands[f.Code] = true
				}
				bare := regexp.MustCompile(`'[^']*'`).ReplaceAllString(r.Command, "")
				bare = strings.ReplaceAll(bare, " && kubectl ", " ") // a second command
				if strings.ContainsAny(bare, ";$`|&>") && !reported[r.Command] {
					reported[r.Command] = true
					t.Errorf("%s: %s", f.Code, r.Command)
				}
			}
		}
	}
	want := []string{"FD101", "FD102", "FD104", "FD105", "FD106", "FD107", "FD108", "FD402", "FD405", "FD602", "FD606"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(commands))); diff != "" {
		t.Errorf("checks that suggest a command with the name (-want +got):\n%s", diff)
	}
}

// missingValues makes the values Secret of a deployment missing, and adds one that is left over.
func missingValues(d *evaluate.BundleDeployment, in *Input) {
	in.Result.Source.TakenAt = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	past := in.Result.Source.TakenAt.Add(-time.Hour)
	d.BD.Generation, d.BD.CreationTimestamp.Time, d.BD.Spec.ValuesHash = 1, past, "hash"
	in.Result.Desired.Values = &state.Values{
		Coverage: map[string]source.Coverage{
			values.DeploymentType: source.Covered(),
			values.BundleType:     source.Covered(),
		},
		Secrets: map[state.ValuesKey]*values.Secret{
			{Type: values.DeploymentType, Namespace: d.Namespace, Name: d.Name + "2"}: {
				Type:    values.DeploymentType,
				Changed: past,
			},
		},
	}
	in.Result.Desired.Coverage = map[string]source.Coverage{state.BundleDeployment: source.Covered()}
}

func TestList(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range []string{"", "a", "a, b", "a, b, c", "a, b, c and 1 more", "a, b, c and 2 more"} {
		if got := facts.List(names[:n]); got != want {
			t.Errorf("%d names: %q, want %q", n, got, want)
		}
	}
}

// TestContested checks which owner is reported for an object that two bundles desire.
func TestContested(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "shared"}
	const id = "default-guestbook"
	other := &desired.BundleDeployment{Deployment: directory.Deployment{Namespace: "cluster-one", Name: "other",
		Placed: true, Ownership: ownership.Desired("default-other", "other", "web")}}
	other.Desired = []*desired.Object{{Ref: ref, Deployment: other.ID()}}
	for _, tc := range []struct {
		name  string
		state evaluate.State
		have  ownership.Metadata
		want  string
	}{
		{"one of the two bundles", evaluate.Modified, ownership.Metadata{}, "cluster-one/guestbook owns it now"},
		{"missing", evaluate.Missing, ownership.Metadata{}, "it has no owner now"},
		{"not read", evaluate.Unknown, ownership.Metadata{}, "could not be read"},
		{"without ownership metadata", evaluate.Unowned, ownership.Metadata{}, "it has no owner now"},
		{"another bundle", evaluate.Unowned, other.Ownership, "it is owned by bundle deployment cluster-one/other"},
		{"its own id, without hash", evaluate.Unowned, ownership.Metadata{SetID: id}, "it has no owner now"},
		{"its own id, another bundle's hash", evaluate.Unowned,
			ownership.Metadata{SetID: id, Hash: other.Ownership.Hash},
			"it is owned by bundle deployment cluster-one/other"},
		{"its own id, an unknown hash", evaluate.Unowned, ownership.Metadata{SetID: id, Hash: "1234"},
			"it has no owner now"},
	} {
		in := inputOf(deployment(), tc.state, ref)
		in.Result.Deployments[0].Objects[0].Metadata = tc.have
		in.Result.Desired = desiredStateOf(in.Result.Desired.Deployments[0], other)
		var got []string
		for _, f := range findings("FD103", in) {
			got = append(got, f.Message)
		}
		if len(got) != 1 || !strings.HasSuffix(got[0], tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestUnread checks that the suggested command names an existing object: a release alone has no BundleDeployment to
// describe.
func TestUnread(t *testing.T) {
	for _, alone := range []bool{false, true} {
		d := deployment()
		d.Problem, d.Detail = directory.NoReleaseRecord, "no revision is deployed"
		want := "kubectl -n cluster-one describe bundledeployment.fleet.cattle.io/guestbook"
		if alone {
			d.BD, d.Namespace, want = nil, "", "helm -n web history guestbook"
		}
		got := findings("FD607", inputOf(d, evaluate.Ready))
		if len(got) != 1 || got[0].Remedies[0].Command != want {
			t.Errorf("release alone %v: %+v, want %q", alone, got, want)
		}
	}
}

// TestAbandonedSets checks that an object is not reported as abandoned if a release on the cluster has its set.
func TestAbandonedSets(t *testing.T) {
	ref := object.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "web", Name: "old"}
	for _, tc := range []struct {
		name     string
		metadata ownership.Metadata
		want     int
	}{
		{"a set without a release", ownership.Desired("default-gone", "gone", "web"), 1},
		{"the id of an existing set, another hash", ownership.Metadata{SetID: "default-guestbook", Hash: "1234"}, 0},
	} {
		in := inputOf(deployment(), evaluate.Ready)
		in.Result.Undesired = []evaluate.Undesired{{Ref: ref, Metadata: tc.metadata}}
		if got := findings("FD106", in); len(got) != tc.want {
			t.Errorf("%s: %+v, want %d", tc.name, got, tc.want)
		}
	}
}

// TestTruncated checks that a list is never reported to be longer than the total.
func TestTruncated(t *testing.T) {
	status := func(incomplete bool, listed, notReady int) v1alpha1.BundleDeploymentStatus {
		return v1alpha1.BundleDeploymentStatus{IncompleteState: incomplete,
			NonReadyStatus: make([]v1alpha1.NonReadyStatus, listed),
			ResourceCounts: &v1alpha1.ResourceCounts{NotReady: notReady}}
	}
	ten := make([]v1alpha1.NonReadyStatus, 10)
	for _, tc := range []struct {
		name   string
		status v1alpha1.BundleDeploymentStatus
		want   string // "" for no finding
	}{
		{"ten of twelve", status(true, 10, 12), "lists 10 objects of 12"},
		{"ten of ten", status(false, 10, 10), ""},
		{"sticky", status(true, 3, 3), ""},
		{"sticky, exactly ten", status(true, 10, 10), ""},
		{"before 0.12", v1alpha1.BundleDeploymentStatus{NonReadyStatus: ten}, "lists 10 objects of an unknown number"},
		{"before 0.12, nine", v1alpha1.BundleDeploymentStatus{NonReadyStatus: ten[:9]}, ""},
	} {
		d := deployment()
		d.BD.Status = tc.status
		in := inputOf(d, evaluate.Ready)
		in.Result.Whole = false
		var got []string
		for _, f := range Run(renew(in)) {
			if f.Code == "FD207" {
				got = append(got, f.Message)
			}
		}
		if (tc.want == "") != (len(got) == 0) || len(got) == 1 && !strings.Contains(got[0], tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestFleetCounts checks that unowned objects are missing in the counts of Fleet (docs/fleet-behavior.md, 4.2), and
// that an unknown part makes the total unknown.
func TestFleetCounts(t *testing.T) {
	d := deployment()
	d.Counts = evaluate.Counts{Desired: 7, Ready: 1, Missing: 2, Unowned: 1, Modified: 1, NotReady: 2, Orphaned: 3}
	got, ok := inputOf(d, evaluate.Ready).fleetCounts(d)
	want := v1alpha1.ResourceCounts{DesiredReady: 7, Ready: 1, Missing: 3, Modified: 1, NotReady: 2, Orphaned: 3}
	if got != want || !ok {
		t.Errorf("%+v, known %v, want %+v", got, ok, want)
	}
	d.Counts.Unknown = 1
	if _, ok := inputOf(d, evaluate.Ready).fleetCounts(d); ok {
		t.Error("a total with an unknown part is known")
	}
	d.BD.Status.ResourceCounts = &v1alpha1.ResourceCounts{DesiredReady: 9}
	if got, ok := inputOf(d, evaluate.Ready).fleetCounts(d); !ok || got.DesiredReady != 9 {
		t.Errorf("%+v, known %v, want the counts of the status", got, ok)
	}
}

// TestSecretsShown checks which patches in a status show a Secret's value.
func TestSecretsShown(t *testing.T) {
	for patch, want := range map[string]bool{
		`{"data":{"a":"eA=="}}`:             true,
		`{"data":{"a":null,"b":"eA=="}}`:    true,
		`{"stringData":{"a":"x"}}`:          true,
		`{"data":{"a":null}}`:               false,
		`{"data":{"a":""}}`:                 false,
		`{"data":null}`:                     false,
		`{"metadata":{"labels":{"a":"x"}}}`: false,
		`{"type":"Opaque"}`:                 false,
		``:                                  false,
		`{"data":{"a":1}}`:                  true, // not the expected type: reported, to be safe
		`{"data":`:                          true,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"}}}`: true,
		`{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}`: false,
	} {
		got := secretsShown([]v1alpha1.ModifiedStatus{
			{APIVersion: "v1", Kind: "Secret", Namespace: "web", Name: "smtp", Patch: patch}})
		if (len(got) > 0) != want {
			t.Errorf("%s: %v, want %v", patch, got, want)
		}
	}
}
