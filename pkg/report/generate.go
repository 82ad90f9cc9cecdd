// SPDX-License-Identifier: Apache-2.0

package report

//go:generate sh -c "cd ../.. && go run ./test/gen docs"
