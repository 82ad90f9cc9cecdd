// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

// maxBytes bounds what contents may unpack to, all files together, and what a chart may render to. A Bundle is at most about 1.5 MiB
// packed, the limit of etcd.
const maxBytes = 64 << 20

// maxNumber bounds how many files a bundle may have, and how many objects it may come to.
const maxNumber = 50_000

// ErrTooLarge is returned for contents beyond the bounds.
var ErrTooLarge = errors.New("it unpacks to more than 64 MiB, or has more than 50,000 parts")

// DecodeContent reads the manifest document of a Content: gzip of JSON, whose SHA-256 must be the stated one where one is stated.
// Source: docs/fleet-behavior.md, 2.2.
func DecodeContent(c *v1alpha1.Content) ([]v1alpha1.BundleResource, error) {
	document, err := gunzip(c.Content, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, err)
	}
	// All bytes count, those after the JSON too.
	if sum := sha256.Sum256(document); c.SHA256Sum != "" && hex.EncodeToString(sum[:]) != c.SHA256Sum {
		return nil, fmt.Errorf("decoding content %s: it is not what its sha256sum says", c.Name)
	}
	var m manifest
	if err := json.NewDecoder(bytes.NewReader(document)).Decode(&m); err != nil {
		return nil, fmt.Errorf("decoding content %s: it holds no manifest document", c.Name)
	}
	if len(m.Resources) > maxNumber {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, ErrTooLarge)
	}
	return m.Resources, nil
}

// manifest is the document of a Content. The order of its fields is part of its identity.
type manifest struct {
	Resources []v1alpha1.BundleResource `json:"resources,omitempty"`
}

// ManifestID returns the name of the Content that holds the resources, and the SHA-256 of its document in hexadecimal.
// Source: docs/fleet-behavior.md, 2.1.
func ManifestID(resources []v1alpha1.BundleResource) (id, sum string, err error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(manifest{resources}); err != nil {
		return "", "", fmt.Errorf("encoding manifest document: %w", err)
	}
	sum = hex.EncodeToString(h.Sum(nil))
	const maxName = 63 // of a Kubernetes object: the last digits go
	return ("s-" + sum)[:maxName], sum, nil
}

// DecodeResource returns the bytes of a file. Source: docs/fleet-behavior.md, 2.1.
func DecodeResource(r v1alpha1.BundleResource) ([]byte, error) {
	return decodeResource(r, maxBytes)
}

func decodeResource(r v1alpha1.BundleResource, limit int) ([]byte, error) {
	encoding := r.Encoding
	data := []byte(r.Content)
	if encoding == "base64" || strings.HasPrefix(encoding, "base64+") {
		var err error
		if data, err = base64.StdEncoding.DecodeString(r.Content); err != nil {
			return nil, fmt.Errorf("decoding %s: it is not the base64 that its encoding says", r.Name)
		}
		encoding = strings.TrimPrefix(strings.TrimPrefix(encoding, "base64"), "+")
	}
	if encoding == "gz" {
		var err error
		if data, err = gunzip(data, limit); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", r.Name, err)
		}
	}
	if len(data) > limit {
		return nil, fmt.Errorf("decoding %s: %w", r.Name, ErrTooLarge)
	}
	return data, nil
}

// decodeAll decodes all files of a bundle under one bound.
func decodeAll(resources []v1alpha1.BundleResource) ([][]byte, error) {
	if len(resources) > maxNumber {
		return nil, ErrTooLarge
	}
	out := make([][]byte, len(resources))
	left := maxBytes
	for i, r := range resources {
		data, err := decodeResource(r, left)
		if err != nil {
			return nil, err
		}
		out[i] = data
		left -= len(data)
	}
	return out, nil
}

func gunzip(data []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is no gzip")
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err != nil {
		return nil, errors.New("its gzip is damaged or cut short")
	}
	if len(out) > limit {
		return nil, ErrTooLarge
	}
	return out, nil
}
