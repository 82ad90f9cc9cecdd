// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// forms are JSON documents in and near the usual form.
var forms = []string{
	`{}`, `{"a":1}`, `{"a":-0}`, `{"a":01}`, `{"a":1.0}`, `{"a":1e3}`, `{"a":999999999999999999}`,
	`{"a":9007199254740993}`, `{"a":12345678901234567890}`,
	`{"a":"b","a":"c"}`, `{"a":"é\n\"\\\ud83d\ude00"}`, "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}", `{"a":"\ud800"}`,
	`{"\u0061":1,"":2}`, `{"a":"`, `{"a":"\`, `{"a":"\"`,
	`{"a":[1,"x",true,false,null,{},[],[[]]]}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{"a":-}`,
	`{"a":tru}`, `{"a":1}x`, `{"a":1} `, ` {"a":1}`,
	`{"a": 1}`, "{\n  \"a\": 1\n}", `[]`, `null`, `"a"`, `1`, ``, `{`,
	`{"apiVersion":"v1","kind":"ConfigMap",` +
		`"metadata":{"name":"a","namespace":"b","managedFields":[{"manager":"x","fieldsV1":{"f:a":{}}}],` +
		`"labels":{"x":"y"}},` +
		`"data":{"k":"v"}}`,
	`{"metadata":{"managedFields":[1],"name":"a","managedFields":[2]},` +
		`"spec":{"managedFields":[3],"metadata":{"managedFields":[4]}}}`,
	`{"metadata":{"managedFields":null}}`, `{"metadata":{"managedFields":[1}}`, `{"metadata":[{"managedFields":[1]}]}`,
	`{"metadata":null}`, `{"metadata":"a","kind":1}`,
	`{"metadata":{"name":1}}`, `{"metadata":{"labels":{"a":1}}}`,
	`{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}`, `{"meta\u0064ata":{"name":"a","managedFields":[1]}}`,
	`{"metadata":{"n\u0061me":"a"},"kind":"K"}`, `{"metadata":{"managed\u0046ields":[1],"name":"a"}}`,
	`{"spec":{"a":{"b":[{"c":"d"}]}},"kind":"K","apiVersion":"v1"}`,
	`{"metadata":{"ownerReferences":[{"kind":"A","name":"a"},{"kind":"B","name":"b","controller":true}]}}`,
}

// FuzzDecode compares the scanner with the library.
func FuzzDecode(f *testing.F) {
	for _, form := range forms {
		f.Add([]byte(form))
	}
	f.Add([]byte(`{"a":"` + string(bytes.Repeat([]byte("x"), maxShared)) + `","b":["c"]}`))
	f.Add([]byte(`{"a":` + string(bytes.Repeat([]byte("["), 300)) + string(bytes.Repeat([]byte("]"), 300)) + `}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, gotManaged, ok := scan(raw)
		if !ok {
			return
		}
		want, wantManaged, err := decode(raw)
		if err != nil {
			t.Fatalf("the scanner accepts what the library refuses: %v", err)
		}
		if !reflect.DeepEqual(got, want) || !bytes.Equal(gotManaged, wantManaged) {
			t.Fatalf("the scanner returns %#v and managedFields %q, want %#v and %q", got, gotManaged, want,
				wantManaged)
		}
	})
}

// FuzzItem compares an object of a stream with the object itself.
func FuzzItem(f *testing.F) {
	for _, form := range forms {
		f.Add([]byte(form))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var r ItemReader
		got, err := r.Read(jsontext.NewDecoder(bytes.NewReader(raw), lenient))
		whole, wantErr := jsontext.NewDecoder(bytes.NewReader(raw), lenient).ReadValue()
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("the error is %v, want %v", err, wantErr)
		}
		if err != nil {
			return
		}
		want, err := ReadMeta(whole)
		if err != nil {
			want = nil
		}
		if !reflect.DeepEqual(got.Meta, want) {
			t.Errorf("the metadata are %+v, want %+v", got.Meta, want)
		}
		content, managed, err := decode(got.Raw)
		wantContent, wantManaged, wantErr := decode(whole)
		if (err != nil) != (wantErr != nil) || !reflect.DeepEqual(content, wantContent) {
			t.Errorf("the object is %v (%v), want %v (%v)", content, err, wantContent, wantErr)
		}
		if managed == nil {
			managed = got.ManagedFields
		}
		if !bytes.Equal(managed, wantManaged) {
			t.Errorf("managedFields are %q, want %q", managed, wantManaged)
		}
	})
}

// FuzzHead compares the identity with that of the library.
func FuzzHead(f *testing.F) {
	for _, form := range forms {
		f.Add([]byte(form))
	}
	for _, form := range []string{
		`{"apiVersion":"v1","data":{"a":"}\\","b":"\"{"},"kind":"ConfigMap",` +
			`"metadata":{"annotations":{"x":"\\\""},"generateName":"b-","name":"a","namespace":"c"}}`,
		`{"apiVersion":"v1","kind":"List","items":[{"kind":"A"},{}]}`, `{"kind":"List","items":null}`,
		`{"kind":"A","kind":"B","metadata":{"name":"a"},"metadata":null}`,
		`{"kind": "A"}`, `{"a":[1 ,2],"kind":"A"}`, `{"kind":"A","x":-1.5e3}`,
	} {
		f.Add([]byte(form))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !jsontext.Value(raw).IsValid(lenient) {
			return
		}
		got, err := ReadHead(raw)
		var want Head
		wantErr := Into(raw, &want)
		if (err != nil) != (wantErr != nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("the identity is %+v (%v), want %+v (%v)", got, err, want, wantErr)
		}
	})
}

// BenchmarkDecode compares the scanner with the library for a Deployment of 1 KiB.
func BenchmarkDecode(b *testing.B) {
	raw := []byte(`{"apiVersion":"apps/v1","kind":"Deployment",` +
		`"metadata":{"name":"guestbook","namespace":"default","labels":{"app":"guestbook"},` +
		`"uid":"00000000-0000-4000-8000-000000000000","resourceVersion":"1","generation":1},` +
		`"spec":{"replicas":2,"selector":{"matchLabels":{"app":"guestbook"}},` +
		`"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},` +
		`"template":{"metadata":{"labels":{"app":"guestbook"}},` +
		`"spec":{"containers":[{"name":"web","image":"registry.example.com/guestbook:1.2.3",` +
		`"ports":[{"name":"http","containerPort":8080,"protocol":"TCP"}],` +
		`"env":[{"name":"LEVEL","value":"info"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}},` +
		`"imagePullPolicy":"IfNotPresent"}],` +
		`"restartPolicy":"Always","dnsPolicy":"ClusterFirst","terminationGracePeriodSeconds":30}}},` +
		`"status":{"observedGeneration":1,"replicas":2,` +
		`"conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable",` +
		`"message":"Deployment has minimum availability."}]}}`)
	b.Run("scanner", func(b *testing.B) {
		for b.Loop() {
			if _, _, ok := scan(raw); !ok {
				b.Fatal("not in the usual form")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
