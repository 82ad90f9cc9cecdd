// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestRestoreCommand runs the commands of FD101 and FD104 as they are printed. They repair the whole bundle, and Helm
// accepts its next deploy.
func TestRestoreCommand(t *testing.T) {
	f := newFleet(t, shared)
	b := f.deploy("guestbook", guestbook+"---\n{apiVersion: v1, kind: Secret, metadata: {name: login}, stringData: "+
		"{password: planted-value}}\n")
	f.remove(configMap("texts"))
	f.merge("someone", configMap("settings"), `{"data":{"colour":"red"}}`)
	f.merge("someone", object("v1", "Secret", apps, "login"), `{"stringData":{"password":"changed"}}`)
	f.merge("someone", object("v1", "Service", apps, "frontend"), `{"spec":{"selector":{"app":"other"}}}`)
	for code, object := range map[string]string{"FD101": "configmap apps/texts", "FD104": settings} {
		command := commandWith(f.audit(), code, object, " repair ")
		if command == "" || strings.Contains(command, "planted-value") {
			t.Fatalf("the command of %s is %q", code, command)
		}
		f.shell(command)
	}
	expect(t, f.audit(), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})

	b.upgrade(strings.NewReplacer("colour: blue", "colour: green", "greeting: hello",
		"greeting: welcome").Replace(b.options.Manifest))
	expect(t, f.audit(), outcome{Status: 0, Deployments: map[string]string{"guestbook": "Ready"}})
	for _, name := range []string{"texts", "settings"} {
		if live := f.get(configMap(name)); live.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("configmap %s has lost Helm's label", name)
		}
	}
}

// commandWith returns the command with a text of the finding about an object; "" without one.
func commandWith(r result, code, object, text string) string {
	for _, found := range r.report.Findings {
		if found.Code != code || found.Object.Key().String() != object {
			continue
		}
		for _, remedy := range found.Remedies {
			if strings.Contains(remedy.Command, text) {
				return remedy.Command
			}
		}
	}
	return ""
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
