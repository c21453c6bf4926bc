// SPDX-License-Identifier: Apache-2.0

// Package words is how names and numbers are put to people: what was meant by a name that
// is not there, how many there are of something.
package words

import (
	"slices"
	"strings"
)

// Nearest is the name that another was probably meant to be, or "".
func Nearest(name string, among []string) string {
	best, least := "", max(1, len(name)/3)+1
	slices.Sort(among)
	for _, a := range among {
		if d := distance(strings.ToLower(name), strings.ToLower(a)); d < least {
			best, least = a, d
		}
	}
	return best
}

// distance is how many letters have to change to make one word another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := previous
			if a[i] != b[j] {
				cost++
			}
			previous = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
