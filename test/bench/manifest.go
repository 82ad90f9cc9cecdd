// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
)

// perRelease is the number of objects of one release; the last release of a size may have fewer.
const perRelease = 500

// kinds are the kinds of a release's objects, in rotation. They are typical for charts and use every path of a
// comparison: plain maps (ConfigMap), values that must be hidden (Secret), lists with merge keys and defaults
// (Service), nested structs with many defaults and a status that decides readiness (Deployment), and nearly empty
// objects (ServiceAccount). All are ready without a controller, except for the Deployment, whose status the loader
// writes. Services are headless: the server needs more time for each cluster IP the more there are.
var kinds = []kind{
	{"ConfigMap", "configmaps", configMap}, {"Secret", "secrets", secret}, {"Service", "services", service},
	{"Deployment", "deployments.apps", deployment}, {"ServiceAccount", "serviceaccounts", serviceAccount},
}

type kind struct {
	name     string
	resource string // as kubectl writes it
	document string // YAML with the placeholders NAME, NAMESPACE, MARK, TEXT, and VALUE for text in base64
}

// The documents of the kinds. With the text, an object has about 2 KiB on the wire, with managedFields, ownership
// metadata and defaults.
const (
	configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: bench
data:
  level: info
  retries: "3"
  application.properties: |
    TEXT
`
	secret = `apiVersion: v1
kind: Secret
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: bench
type: Opaque
data:
  user: bm90LWEtc2VjcmV0
  password: VALUE
`
	service = `apiVersion: v1
kind: Service
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: bench
  annotations:
    bench.example.com/description: TEXT
spec:
  clusterIP: None
  selector:
    app.kubernetes.io/name: NAME
  ports:
  - name: http
    port: 80
    targetPort: 8080
  - name: metrics
    port: 9090
`
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: bench
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/name: NAME
  template:
    metadata:
      labels:
        app.kubernetes.io/name: NAME
    spec:
      serviceAccountName: NAME
      containers:
      - name: web
        image: registry.example.com/bench/web:1.2.3
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: CLUSTER
          value: MARK
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
          limits:
            memory: 512Mi
`
	serviceAccount = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: NAME
  namespace: NAMESPACE
  labels:
    app.kubernetes.io/name: NAME
    app.kubernetes.io/part-of: bench
  annotations:
    bench.example.com/description: TEXT
automountServiceAccountToken: false
`
)

// release is the release of one bundle. Its objects are in a namespace of their own.
type release struct {
	name        string // also of its namespace, bundle and BundleDeployment
	objects     int
	manifest    string
	deployments []string // names
}

// newRelease returns a release by its number. The same number always gives the same release.
func newRelease(number, objects int) release {
	r := release{name: fmt.Sprintf("bench-%03d", number), objects: objects}
	rng := rand.New(rand.NewPCG(uint64(number), perRelease))
	var manifest strings.Builder
	for i := range objects {
		kind := kinds[i%len(kinds)]
		name := fmt.Sprintf("%s-%03d", strings.ToLower(kind.name), i)
		if kind.name == "Deployment" {
			r.deployments = append(r.deployments, name)
		}
		text := first.mark() + " " + randomText(rng, textSize)
		value := base64.StdEncoding.EncodeToString([]byte(text + " is not a secret"))
		manifest.WriteString("---\n")
		manifest.WriteString(strings.NewReplacer("NAMESPACE", r.name, "NAME", name, "TEXT", text, "VALUE", value,
			"MARK", first.mark()).Replace(kind.document))
	}
	r.manifest = manifest.String()
	return r
}

const (
	textSize   = 700 // length in bytes of an object's text
	vocabulary = 500 // number of words; the text then compresses about as well as natural language
)

// randomText returns about size bytes of invented words on one line.
func randomText(rng *rand.Rand, size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteString(word(rng.IntN(vocabulary)))
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// word returns an invented word of two to four syllables, always the same for the same number.
func word(number int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	rng := rand.New(rand.NewPCG(uint64(number), vocabulary))
	var b strings.Builder
	for range 2 + rng.IntN(3) {
		b.WriteByte(consonants[rng.IntN(len(consonants))])
		b.WriteByte(vowels[rng.IntN(len(vowels))])
	}
	return b.String()
}
