// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/release/common"
	helm "helm.sh/helm/v4/pkg/release/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Facts are the data of an installation that were read. Data that could not be read have a reason, and never count as
// absent.
type Facts struct {
	*Installation
	TakenAt time.Time
	// HelmRelease is the last revision of the Helm release, nil without one, or if it could not be read for the reason.
	HelmRelease       *helm.Release
	HelmReleaseReason string
}

// Reading is the result of reading an object: nil if it does not exist, or if it could not be read for the Reason.
type Reading struct {
	Object *unstructured.Unstructured
	Reason string
}

// Read reads an object.
func (c *Cluster) Read(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) Reading {
	o, err := c.Get(ctx, kind, namespace, name)
	return Reading{o, ReasonOf(err)}
}

// ReasonOf is the reason why an object could not be read, "" without an error.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// ReadFacts reads the Helm release of an installation.
func (c *Cluster) ReadFacts(chart Chart, in *Installation) Facts {
	f := Facts{Installation: in}
	h, err := c.Helm(chart, in.Namespace, in.Release)
	if f.HelmReleaseReason = ReasonOf(err); err == nil {
		f.HelmRelease = h.Last
	}
	return f
}

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
	// Installed is false if no object of the installation exists by which it is found.
	Installed bool `json:"installed"`
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
	// Name is the name of the check, such as deployment or release.
	Name string `json:"name"`
	// State is OK, Note, Unknown or Wrong.
	State State `json:"state"`
	// Message and Details are text for people.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
}

// NewStatus makes the status of an installation with the checks of every chart. noun names it. If it was not found, its
// only check says so.
func NewStatus(f *Facts, chart Chart, kind, noun string) Status {
	s := Status{APIVersion: APIVersion, Kind: kind, TakenAt: f.TakenAt.UTC().Format(time.RFC3339),
		Namespace: f.Namespace, State: OK, Release: f.Fleet, Installed: f.Named != "" || f.Deployment != nil}
	if !s.Installed {
		s.Add("installed", Wrong, noun+" is not installed")
		return s
	}
	if r := f.HelmRelease; r != nil {
		s.HelmRelease = r.Namespace + "/" + r.Name
	}
	for _, c := range Decode[appsv1.Deployment](f.Deployment).Spec.Template.Spec.Containers {
		s.Image = c.Image
	}
	s.checkRelease(f)
	s.checkDeployment(f.Deployment, chart)
	return s
}

// Add adds the result of a check.
func (s *Status) Add(name string, state State, message string, details ...string) {
	s.Checks = append(s.Checks, Check{name, state, message, details})
	order := []State{OK, Note, Unknown, Wrong}
	if slices.Index(order, state) > slices.Index(order, s.State) {
		s.State = state
	}
}

func (s *Status) checkRelease(f *Facts) {
	r := f.HelmRelease
	switch {
	case f.HelmReleaseReason != "":
		s.Add("release", Unknown, "the Helm release could not be read: "+f.HelmReleaseReason)
	case r == nil:
		s.Add("release", Note, "there is no Helm release")
	case r.Info.Status != common.StatusDeployed:
		s.Add("release", Wrong, fmt.Sprintf("revision %d is %s", r.Version, r.Info.Status), r.Info.Description)
	default:
		s.Add("release", OK, fmt.Sprintf("revision %d is deployed", r.Version))
	}
}

// checkDeployment checks whether the Deployment runs its newest revision with all its replicas, with a message of
// kstatus.
func (s *Status) checkDeployment(deployment *unstructured.Unstructured, chart Chart) {
	if deployment == nil {
		s.Add("deployment", Wrong, "Deployment "+chart.Name+" does not exist")
		return
	}
	why := "To see why: kubectl describe pods -n " + s.Namespace + " -l " + chart.Selector()
	replicas, isStated, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas")
	result, err := status.Compute(deployment)
	switch {
	case isStated && replicas == 0:
		s.Add("deployment", Wrong, "it is scaled to 0")
	case err != nil:
		s.Add("deployment", Wrong, err.Error())
	case result.Status != status.CurrentStatus:
		s.Add("deployment", Wrong, result.Message, why)
	default:
		s.Add("deployment", OK, result.Message)
	}
}

// Remedy names what corrects the objects of an installation: a command, unless Fleet deployed them.
func (s *Status) Remedy(command string) string {
	if s.Release != "" {
		return "the next deploy by Fleet"
	}
	return "`" + command + "`"
}

// Count is a number with a noun.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
