// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// APIVersion is the version of the printed documents.
const APIVersion = "fleetdoctor.io/v1alpha1"

// State is the result of a check.
type State string

// The states, from the best to the worst.
const (
	OK State = "OK"
	// Note is the state of something that may be intended.
	Note State = "Note"
	// Unknown is the state of something that could not be read.
	Unknown State = "Unknown"
	Wrong   State = "Wrong"
)

// Status is the part of a status that every chart has.
type Status struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// TakenAt is the time of the reads (RFC 3339).
	TakenAt string `json:"takenAt"`
	// Namespace is the namespace of the installation.
	Namespace string `json:"namespace"`
	// State is the worst state of the checks: OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Installed is false if no object of the installation exists by which it is found, and absent if that is unknown.
	Installed *bool `json:"installed,omitempty"`
	// Image is the image of the Deployment.
	Image string `json:"image,omitempty"`
	// Release is the Helm release ("namespace/name") with which Fleet deployed it, absent if Fleet did not.
	Release string `json:"release,omitempty"`
	// HelmRelease is the Helm release ("namespace/name") whose record exists, whoever made it; absent without one.
	HelmRelease string `json:"helmRelease,omitempty"`
	// Checks are the results in the order of the checks. A check can have several results.
	Checks []Check `json:"checks"`
}

// Check is the result of one check.
type Check struct {
	// Name is the name of the check, such as deployment or manifests.
	Name string `json:"name"`
	// State is OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Message and Details are text for people.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
}

// NewStatus makes the status of an installation without checks. by are the objects by which it is found, and noun names
// it. If it was not found, its only check says so.
func NewStatus(f *Facts, of Chart, kind, noun string, by ...Reading) Status {
	s := Status{APIVersion: APIVersion, Kind: kind, TakenAt: f.TakenAt.UTC().Format(time.RFC3339),
		Namespace: f.Namespace, State: OK, HelmRelease: f.Manifest.Release}
	unread, found := false, false
	for _, r := range by {
		unread = unread || r.Reason != ""
		if r.Object != nil {
			found = true
			s.Release = cmp.Or(ReleaseOf(r.Object), s.Release)
		}
	}
	for _, c := range Decode[appsv1.Deployment](f.Deployment(of).Object).Spec.Template.Spec.Containers {
		s.Image = c.Image
	}
	if f.NamespaceReason != "" && f.Deployment(of) == (Reading{}) {
		s.Add("installed", Unknown, noun+" is not in namespace "+f.Namespace+", and its namespace is unknown: "+
			f.NamespaceReason, "-n names the namespace.")
		return s
	}
	if found || !unread {
		s.Installed = &found
	}
	if !found && !unread {
		s.Add("installed", Wrong, noun+" is not installed")
	}
	return s
}

// IsFound reports whether a new status is that of an installation, or of one that could not be read.
func (s *Status) IsFound() bool { return len(s.Checks) == 0 }

// IsAbsent reports whether there is certainly no installation.
func (s *Status) IsAbsent() bool { return s.Installed != nil && !*s.Installed }

// Add adds the result of a check.
func (s *Status) Add(name string, state State, message string, details ...string) {
	s.Checks = append(s.Checks, Check{name, state, message, details})
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, state) > slices.Index(order, s.State) {
		s.State = state
	}
}

// Exists reports whether an object was read, and otherwise adds a check. effect is the effect if the object does not
// exist.
func (s *Status) Exists(check, name string, r Reading, effect string) bool {
	switch {
	case r.Reason != "":
		s.Add(check, Unknown, name+" could not be read: "+r.Reason)
	case r.Object == nil:
		s.Add(check, Wrong, name+" does not exist"+effect)
	}
	return r.Object != nil
}

// CheckDeployment adds whether a Deployment runs its newest revision with all its replicas, with a message of kstatus,
// and otherwise with remedies.
func (s *Status) CheckDeployment(of Chart, r Reading, remedies ...string) {
	if !s.Exists("deployment", "Deployment "+of.Name, r, "") {
		return
	}
	state, message := available(r.Object)
	if state == OK {
		remedies = nil
	}
	s.Add("deployment", state, message, remedies...)
}

func available(deployment *unstructured.Unstructured) (state State, message string) {
	if replicas, stated, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas"); stated && replicas == 0 {
		return Wrong, "it is scaled to 0"
	}
	r, err := status.Compute(deployment)
	switch {
	case err != nil:
		return Wrong, err.Error()
	case r.Status != status.CurrentStatus:
		return Wrong, r.Message
	}
	return OK, r.Message
}

// Remedy names what corrects the objects of an installation: a command, unless Fleet deployed them.
func (s *Status) Remedy(command string) string {
	if s.Release != "" {
		return "the next deploy by Fleet"
	}
	return "`" + command + "`"
}

// CheckManifests adds how an installation differs from the manifest of its Helm release. remedy is the command that
// corrects it.
func (s *Status) CheckManifests(f *Facts, remedy string) {
	if f.Manifest.Reason != "" {
		s.Add("manifests", Unknown, "the Helm release could not be read: "+f.Manifest.Reason)
		return
	}
	if len(f.Manifest.Objects) == 0 {
		s.Add("manifests", Note, "there is no Helm release, so the objects were not compared with a manifest")
		return
	}
	var details []string
	unread := 0
	for _, d := range f.Manifest.Objects {
		key := RefOf(d).Key()
		r := f.Objects[key]
		if r.Reason != "" {
			unread++
			continue
		}
		if r.Object == nil {
			details = append(details, key.String()+" does not exist")
			continue
		}
		for _, each := range drift(d, r.Object) {
			details = append(details, key.String()+": "+driftText(each))
		}
	}
	notRead := ""
	if unread > 0 {
		notRead = "; not read: " + Count(unread, "object")
	}
	switch {
	case len(details) > 0:
		text := "the objects differ from the Helm release; " + s.Remedy(remedy) + " corrects them"
		s.Add("manifests", Wrong, text+notRead, details...)
	case unread == len(f.Manifest.Objects):
		s.Add("manifests", Unknown, "no object could be compared"+notRead)
	case unread > 0:
		s.Add("manifests", Unknown, "no drift in the objects that could be compared"+notRead)
	default:
		s.Add("manifests", OK, "no drift")
	}
}

// Count is a number with a noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
