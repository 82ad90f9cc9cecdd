// SPDX-License-Identifier: Apache-2.0

package state

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
)

const (
	kindDeployment = "Deployment"
	scaledToZero   = "it is scaled to zero"
)

// Workload is what an agent's Deployment or StatefulSet shows.
type Workload struct {
	Kind string
	// Version is the tag of its image.
	Version string
	// Scope is the value of AGENT_SCOPE, empty if the variable is not set.
	Scope string
	// Idle is the reason why none of its pods runs; empty if one runs, or if its status is not known.
	Idle string
	// Stuck is why its pods do not run. It is only read for agents.
	Stuck Stuck
	// Doubt is the reason why the workload does not prove the scope: it does not run, or does not show its value. It is
	// empty if it proves the scope.
	Doubt string
	// ImageScan and Scheduling are, for fleet-controller, whether Fleet scans images and processes Schedules, by its
	// environment; nil if that is not shown.
	ImageScan, Scheduling *bool
	// CheckinInterval is the value of CHECKIN_INTERVAL, empty if the variable is not set or not shown.
	CheckinInterval string
}

// Stuck is why no pod of a workload runs, in the words of Kubernetes.
type Stuck struct {
	// Why is a sentence about a pod; empty if nothing was read of the pods.
	Why string
	// Since is when the pod was created; zero if it is not known.
	Since time.Time
	// Runs is true if a pod is ready after all, such as one of an earlier template.
	Runs bool
	// Logs is true if a container of it has started, so that it has a log.
	Logs bool
	// Ref is the pod, or the PersistentVolumeClaim for which it waits, and Crashed the container of the pod that is
	// started again after it ended; empty without one. They are only read for workloads of bundles.
	Ref     object.Ref
	Crashed string
}

// ReadsPods reports whether the pods of a workload explain why it does not run.
func (w *Workload) ReadsPods() bool { return w.Idle != "" && w.Idle != scaledToZero }

// readWorkload reads a Deployment or StatefulSet, given as JSON.
func readWorkload(kind string, raw []byte) (namespace, name string, out Workload, err error) {
	var w workloadObject
	if err := object.Into(raw, &w); err != nil {
		return "", "", Workload{}, err
	}
	out = Workload{Kind: kind, Idle: w.idle()}
	out.Doubt = out.Idle
	for _, c := range w.Spec.Template.Spec.Containers {
		if out.Version == "" {
			out.Version = tag(c.Image)
		}
		for _, e := range c.Env {
			if e.Name == fleet.CheckinIntervalEnv {
				out.CheckinInterval = e.Value
			}
		}
	}
	if w.Metadata.Name == fleet.ControllerName {
		out.ImageScan, out.Scheduling = w.enables(fleet.ImageScanEnv), w.enables(fleet.SchedulesEnv)
	}
	if scope, ok := w.scope(); ok {
		out.Scope = scope
	} else {
		out.Doubt = "its " + fleet.AgentScopeEnv + " is not shown"
	}
	return w.Metadata.Namespace, w.Metadata.Name, out, nil
}

// workloadObject is the part of a Deployment or StatefulSet that is read.
type workloadObject struct {
	Metadata struct {
		Name       string `json:"name"`
		Namespace  string `json:"namespace"`
		Generation int64  `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int64 `json:"replicas"`
		Template struct {
			Spec struct {
				Containers []struct {
					Image   string           `json:"image"`
					Env     []workloadEnv    `json:"env"`
					EnvFrom []jsontext.Value `json:"envFrom"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64 `json:"observedGeneration"`
		Replicas           int64 `json:"replicas"`
		UpdatedReplicas    int64 `json:"updatedReplicas"`
		ReadyReplicas      int64 `json:"readyReplicas"`
	} `json:"status"`
}

type workloadEnv struct {
	Name      string         `json:"name"`
	Value     string         `json:"value"`
	ValueFrom jsontext.Value `json:"valueFrom"`
}

// idle returns the reason why no pod of the present template runs; empty if a pod runs. A workload without a status, as
// in a capture that omits it, counts as running.
func (w *workloadObject) idle() string {
	s := w.Status
	switch {
	case w.Spec.Replicas != nil && *w.Spec.Replicas == 0:
		return scaledToZero
	case s.ObservedGeneration == 0:
		return ""
	case s.ObservedGeneration < w.Metadata.Generation || s.UpdatedReplicas < s.Replicas:
		return "its rollout is not complete"
	case s.ReadyReplicas == 0:
		return "none of its pods is ready"
	}
	return ""
}

// enables returns whether a variable enables a feature: it is set only then. It returns nil if the value comes from
// elsewhere, or if a capture replaced it.
func (w *workloadObject) enables(variable string) *bool {
	enabled := false
	for _, c := range w.Spec.Template.Spec.Containers {
		if len(c.EnvFrom) > 0 {
			return nil
		}
		for _, e := range c.Env {
			if e.Name != variable {
				continue
			}
			value, err := strconv.ParseBool(e.Value)
			if err != nil {
				return nil
			}
			enabled = enabled || value
		}
	}
	return &enabled
}

// scope returns the value of AGENT_SCOPE, which is empty if the variable is not set. ok is false if the value comes
// from elsewhere or the capture replaced it.
func (w *workloadObject) scope() (scope string, ok bool) {
	values := map[string]bool{}
	elsewhere := false
	for _, c := range w.Spec.Template.Spec.Containers {
		elsewhere = elsewhere || len(c.EnvFrom) > 0
		for _, e := range c.Env {
			if e.Name == fleet.AgentScopeEnv {
				scope, values[e.Value] = e.Value, true
				elsewhere = elsewhere || e.ValueFrom != nil
			}
		}
	}
	valid := scope == "" || len(validation.IsDNS1123Label(scope)) == 0
	return scope, valid && !elsewhere && len(values) < 2
}

// tag returns the tag of an image, empty without one.
func tag(image string) string {
	image, _, _ = strings.Cut(image, "@")
	i := strings.LastIndexByte(image, ':')
	if i < 0 || strings.Contains(image[i:], "/") {
		return ""
	}
	return image[i+1:]
}
