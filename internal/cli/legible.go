// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"unicode"
)

// legible is a text from a repository in one line, without what a terminal or a CI would
// obey.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
