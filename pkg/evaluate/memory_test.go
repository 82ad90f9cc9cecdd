// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/desired"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/ownership"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// remembering changes what is live and desired at random, as one cluster over some time.
type remembering struct {
	*testCluster
	memory  *Memory
	version int
}

// deploy makes the ConfigMaps as the first bundle deployment that desires them wants them.
func (c *remembering) deploy() {
	for _, d := range c.desired.Deployments {
		for _, o := range d.Desired {
			if _, exists := c.live[o.Key()]; exists || o.Kind != configMaps.Kind {
				continue
			}
			own := d.Ownership
			owned := fmt.Appendf(nil, `"metadata":{"labels":{%q:%q},"annotations":{%q:%q,%q:%q,%q:%q},`,
				fleet.HashLabel, own.Hash, fleet.IDAnnotation, own.SetID, fleet.ReleaseNameAnnotation, own.ReleaseName,
				fleet.ReleaseNamespaceAnnotation, own.ReleaseNamespace)
			raw := bytes.Replace(o.Raw, []byte(`"metadata":{`), owned, 1)
			c.store(o.Key(), source.Object{Item: object.Item{Raw: raw}, Kind: configMaps})
		}
	}
}

// store stores a new version of a live object.
func (c *remembering) store(key object.Key, o source.Object) {
	c.version++
	o.Raw = bytes.Replace(o.Raw, []byte(`"metadata":{`), fmt.Appendf(nil, `"metadata":{"resourceVersion":"%d",`,
		c.version), 1)
	c.live[key] = o
}

// changeLive changes or deletes a live object.
func (c *remembering) changeLive() {
	key, _ := c.change()
	if o, exists := c.live[key]; exists {
		c.store(key, o)
	}
}

// changeDesired changes a manifest, the set of a bundle deployment, or who desires what.
func (c *remembering) changeDesired() {
	d := c.desired.Deployments[c.IntN(4)]
	switch o := d.Desired[c.IntN(len(d.Desired))]; c.IntN(3) {
	case 0:
		o.Raw = bytes.Replace(o.Raw, []byte(`"a":"1"`), []byte(`"a":"0"`), 1)
	case 1:
		d.Ownership = ownership.Desired(fmt.Sprintf("default-%s", []string{d.Name, "other"}[c.IntN(2)]), d.Name,
			namespaceOf(d.Name))
	default: // neighbors desire the first ones too
		d.Desired = d.Desired[:1+c.IntN(6)] // of six
	}
	c.desired = desired.IndexState(c.desired.Directory, c.desired.Deployments)
}

// TestMemory checks that the observation of an object that is remembered is that of its content, after random changes
// of live and of desired objects.
func TestMemory(t *testing.T) {
	remembered := 0
	for seed := range uint64(200) {
		c := &remembering{testCluster: newTestCluster(rand.New(rand.NewPCG(seed, 7))), memory: NewMemory()}
		c.deploy()
		for range 10 {
			c.changeLive()
		}
		for range 4 {
			c.memory.Begin()
			on := c.desired.On(c.desired.Clusters[0].ID)
			e := New(on, c.desired.Deployments, Options{Memory: c.memory})
			fresh := New(on, c.desired.Deployments, Options{})
			for _, o := range c.live {
				remembered += observeBoth(t, e, fresh, o)
			}
			c.memory.End()
			c.changeLive()
			c.changeDesired()
		}
	}
	if remembered < 500 {
		t.Errorf("only %d objects were remembered", remembered)
	}
}

// observeBoth observes an object, without content if it is remembered, and returns 1 then. The result must be that of
// an Evaluator without a Memory.
func observeBoth(t *testing.T, e, fresh *Evaluator, o source.Object) int {
	t.Helper()
	want, err := fresh.Observe(o, o.Kind)
	if err != nil {
		t.Fatal(err)
	}
	m, err := object.ReadMeta(o.Raw)
	if err != nil {
		t.Fatal(err)
	}
	x, n := o, 0
	if e.Remembered(o.Kind)(m.Metadata.Namespace, m.Metadata.Name, m.Metadata.ResourceVersion) {
		x, n = source.Object{Item: object.Item{Meta: m}, Kind: o.Kind, Remembered: true}, 1
	}
	got, err := e.Observe(x, o.Kind)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s, remembered: %t, error: %v: got %+v, want %+v", m.Metadata.Name, n == 1, err, got, want)
	}
	return n
}
