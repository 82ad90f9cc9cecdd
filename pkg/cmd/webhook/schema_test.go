// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// followsSchema compares a printed document with its schema in docs/.
func followsSchema(t *testing.T, name, document string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../../docs/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%v:\n%s", err, document)
	}
}
