// SPDX-License-Identifier: Apache-2.0

package printers

// Escaped lets tests write JSON that YAML can hold.
var Escaped = escaped
