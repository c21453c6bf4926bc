// SPDX-License-Identifier: Apache-2.0

package words

import (
	"fmt"
	"regexp"
)

// Count is a number of something, in words that take an s.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

var digest = regexp.MustCompile(`\b(sha1|sha256):([0-9a-f]{8})[0-9a-f]+`)

// Short cuts the digests in a text to what people compare.
func Short(text string) string { return digest.ReplaceAllString(text, "$1:$2") }
