// SPDX-License-Identifier: Apache-2.0

package evaluate

// Trial is what the API server says about the next deploy of an object, in a dry run. The zero value is that of an
// object which a deploy does not change.
type Trial struct {
	// Accepted is true if the server would store the object. Refusal is why it would not, in its words, and may quote
	// values of Secrets. NotAsked is why it was not asked, as a sentence.
	Accepted          bool
	Refusal, NotAsked string
	// Warnings are those of a server that accepts it; they may quote values too.
	Warnings string
}

// WebhookFailed are the words of an API server that cannot call an admission webhook.
const WebhookFailed = "failed calling webhook"
