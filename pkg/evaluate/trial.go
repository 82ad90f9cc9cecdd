// SPDX-License-Identifier: Apache-2.0

package evaluate

// Trial is what the API server says about the next deploy of an object, in a dry run. The zero value is that of an
// object which a deploy does not change.
type Trial struct {
	// Accepted is true if the server would store the object. Refusal is why it would not, in its words, and may quote
	// values of Secrets. NotAsked is why it was not asked, as a sentence.
	Accepted          bool
	Refusal, NotAsked string
}

// Apply are the options of a server-side apply.
type Apply struct {
	Manager string
	Force   bool
}
