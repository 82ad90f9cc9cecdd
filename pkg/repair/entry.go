// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"encoding/json"
	"maps"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/check/remedy"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/report"
)

// Entry is one object of a receipt.
type Entry struct {
	object.Ref
	// Step is what was done; empty in a receipt of adoptions.
	Step remedy.StepKind `json:"step,omitempty"`
	// ClusterUID is the cluster of the object, if it is not that of the header.
	ClusterUID       string `json:"clusterUID,omitempty"`
	UID              string `json:"uid,omitempty"` // before the step; empty if the object did not exist
	BundleDeployment string `json:"bundleDeployment,omitempty"`
	Release          string `json:"release,omitempty"`
	// Before and After are the values of ownership metadata, by key, of an adoption.
	Before map[string]string `json:"before,omitzero"`
	After  map[string]string `json:"after,omitzero"`
	// Forward is the JSON merge patch of a change, and Undo the one that undoes it. Previous is an object that was
	// deleted. A Secret has none of them.
	Forward  json.RawMessage `json:"forward,omitempty"`
	Undo     json.RawMessage `json:"undo,omitempty"`
	Previous object.Content  `json:"previous,omitempty"`

	// Created is the uid of the object that the step created, from the line of its outcome; empty if that is not known.
	Created string `json:"-"`
}

// adopts reports whether the step wrote only ownership metadata.
func (e Entry) adopts() bool { return e.Step == "" || e.Step == remedy.StepAdopt }

// complete says whether an entry has all data that an undo needs, and no key that this version would ignore.
func (e Entry) complete() bool {
	known := func(values map[string]string) bool {
		return values != nil && maps.Equal(values, ownership.FromValues(values).Values())
	}
	switch {
	case e.Name == "" || e.Kind == "":
		return false
	case !e.adopts():
		return true
	}
	return e.UID != "" && known(e.Before) && known(e.After)
}

// outcome is a later line of a receipt: the outcome of the object on line Entry, counted from 1. An undo needs only the
// uid of an object that was created. It excludes the reason of a failure: a policy of the cluster may quote the value
// of a Secret, and only a report can hide that.
type outcome struct {
	Entry      int            `json:"entry"`
	Outcome    report.Outcome `json:"outcome"`
	Unanswered bool           `json:"unanswered,omitempty"` // the server may have stored the write
	Created    string         `json:"created,omitempty"`    // the uid of the object that was created
}
