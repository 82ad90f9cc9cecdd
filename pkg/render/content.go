// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/fleet/v1alpha1"
)

const (
	// maxBytes limits the decoded size, in bytes, of all files of a bundle together, and the size of a rendered chart.
	// A Bundle has at most about 1.5 MiB encoded, the limit of etcd.
	maxBytes = 64 << 20
	// maxNumber limits the files of a bundle and its rendered objects.
	maxNumber = 50_000
)

// errTooLarge is returned for contents that exceed a limit.
var errTooLarge = errors.New("it has more than 64 MiB decoded, or more than 50,000 files or objects")

// DecodeContent reads the manifest document of a Content, which is gzip of JSON, and verifies its SHA-256 if the
// Content states one. Source: docs/fleet-behavior.md, 2.2.
func DecodeContent(c *v1alpha1.Content) ([]v1alpha1.BundleResource, error) {
	document, err := gunzip(c.Content, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, err)
	}
	// The checksum includes bytes after the JSON.
	if sum := fmt.Sprintf("%x", sha256.Sum256(document)); c.SHA256Sum != "" && sum != c.SHA256Sum {
		return nil, fmt.Errorf("decoding content %s: its document does not match its sha256sum", c.Name)
	}
	var m manifest
	if err := json.NewDecoder(bytes.NewReader(document)).Decode(&m); err != nil {
		return nil, fmt.Errorf("decoding content %s: its document is not a manifest document", c.Name)
	}
	if len(m.Resources) > maxNumber {
		return nil, fmt.Errorf("decoding content %s: %w", c.Name, errTooLarge)
	}
	return m.Resources, nil
}

// TooLarge reports whether DecodeContent failed because of its own limits: then the Content is not known to be damaged.
func TooLarge(err error) bool { return errors.Is(err, errTooLarge) }

// manifest is the document of a Content.
type manifest struct {
	Resources []v1alpha1.BundleResource `json:"resources,omitempty"`
}

// ManifestID returns the name of the Content with these resources. Their order matters. Source: docs/fleet-behavior.md,
// 2.1.
func ManifestID(resources []v1alpha1.BundleResource) (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(manifest{resources}); err != nil {
		return "", fmt.Errorf("encoding manifest document: %w", err)
	}
	const maxName = 63 // of a Kubernetes object: the last digits are left out
	return fmt.Sprintf("s-%x", h.Sum(nil))[:maxName], nil
}

// decodeResource returns the decoded bytes of a file. Source: docs/fleet-behavior.md, 2.1.
func decodeResource(r v1alpha1.BundleResource, limit int) ([]byte, error) {
	data, encoding := []byte(r.Content), r.Encoding
	if first, rest, _ := strings.Cut(encoding, "+"); first == "base64" {
		var err error
		if data, err = base64.StdEncoding.DecodeString(r.Content); err != nil {
			return nil, fmt.Errorf("decoding %s: its content is not valid base64", r.Name)
		}
		encoding = rest
	}
	if encoding == "gz" {
		var err error
		if data, err = gunzip(data, limit); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", r.Name, err)
		}
	}
	if len(data) > limit {
		return nil, fmt.Errorf("decoding %s: %w", r.Name, errTooLarge)
	}
	return data, nil
}

// decodeAll decodes all files of a bundle. They share one limit.
func decodeAll(encoded []v1alpha1.BundleResource) ([]resource, error) {
	if len(encoded) > maxNumber {
		return nil, errTooLarge
	}
	out := make([]resource, len(encoded))
	left := maxBytes
	for i, r := range encoded {
		data, err := decodeResource(r, left)
		if err != nil {
			return nil, err
		}
		out[i] = resource{r, data}
		left -= len(data)
	}
	return out, nil
}

func gunzip(data []byte, limit int) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("it is not gzip")
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	if err != nil {
		return nil, errors.New("its gzip is damaged or truncated")
	}
	if len(out) > limit {
		return nil, errTooLarge
	}
	return out, nil
}

// resource is a file of a bundle, encoded and decoded.
type resource struct {
	v1alpha1.BundleResource
	data []byte
}
