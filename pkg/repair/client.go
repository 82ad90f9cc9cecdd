// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/object"
	"github.com/fleetdoctor/kubectl-fleetdoctor/pkg/source"
)

// Client reads and writes live objects. Its errors are those of the API server (apimachinery's api/errors).
type Client interface {
	// Read returns the present metadata of the object.
	Read(ctx context.Context, ref object.Ref) (*object.Meta, error)
	// Patch applies a JSON merge patch with the field manager ownership.FieldManager. It returns the metadata that the
	// server stored.
	Patch(ctx context.Context, ref object.Ref, patch []byte) (*object.Meta, error)
	// Content returns the present object.
	Content(ctx context.Context, ref object.Ref) (object.Content, error)
	// Send writes the object, and returns what the server stored. Nothing is stored if dry is set.
	Send(ctx context.Context, ref object.Ref, as source.Apply, body []byte, dry bool) (object.Content, error)
	// Delete deletes the object if it has the uid. stored is false after a dry run.
	Delete(ctx context.Context, ref object.Ref, uid string) (stored bool, err error)
}

// Clients returns the client of a cluster; nil if it is read from a snapshot.
type Clients func(object.ClusterID) Client

// Concurrency is the maximum number of concurrent writes.
const Concurrency = 8

// requestTimeout limits one request, so that an interrupted adoption does not wait for a server that no longer answers.
const requestTimeout = 30 * time.Second

// temporary are the kinds of errors after which a retry may succeed.
var temporary = []func(error) bool{
	apierrors.IsConflict, apierrors.IsNotFound, apierrors.IsTooManyRequests, apierrors.IsServerTimeout,
	apierrors.IsTimeout, apierrors.IsServiceUnavailable, apierrors.IsInternalError,
}

// refused says whether a retry is useless. All other errors may be temporary, or may follow a stored write: another
// program wrote to the object, it is another object now, or no answer arrived.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	return !slices.ContainsFunc(temporary, func(is func(error) bool) bool { return is(err) })
}

// changedError is an object that is not as it was when the plan was made.
type changedError struct{ what string }

// Error implements error.
func (e changedError) Error() string { return e.what }

// The errors of an object that is gone, or that is another one now.
var (
	errDeleted  = changedError{"it was deleted in the meantime"}
	errReplaced = changedError{"it was deleted and created again in the meantime"}
)

// errLost is a write that the server accepted and did not keep.
var errLost = errors.New("the server accepted the write, but did not keep it: an admission webhook or policy of the " +
	"cluster may have changed it")

// uidOf returns the uid and the resourceVersion of an object.
func uidOf(content object.Content) (uid, version string) {
	metadata, _ := content["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
}

// conditional returns an object, or a patch, as JSON that the server refuses if the live object has another uid or
// version. Without a version, only the uid counts.
func conditional(content object.Content, uid, version string) ([]byte, error) {
	out := make(object.Content, len(content)+1)
	for name, v := range content {
		out[name] = v
	}
	metadata := map[string]any{"uid": uid}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	if stated, ok := content["metadata"].(map[string]any); ok {
		for name, v := range stated {
			if metadata[name] == nil {
				metadata[name] = v
			}
		}
	}
	out["metadata"] = metadata
	return json.Marshal(out)
}

// final is an error after which a retry is useless.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// captured is why an object on a cluster without a client is not written.
const captured = "its cluster is read from a snapshot, which cannot be written: read the live cluster with --cluster"
