// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"regexp"
	"strings"
)

// longest is how much of a value a note shows. What is longer may be a key.
const longest = 40

// secretive are parts of names whose values are nobody's business.
var secretive = regexp.MustCompile(`(?i)(^|[^a-z])(data|stringdata|binarydata|values?|patch)($|[^a-z])|secret|token|passw|credential|key|auth|cert|kubeconfig|private`)

// short shows the value of a field, as an ending of a sentence.
func short(f field) string {
	switch v := f.value.(type) {
	case nil:
		return ""
	case map[string]any:
		return fmt.Sprintf(" (%s)", count(len(v), "field"))
	case []any:
		return fmt.Sprintf(" (%s)", count(len(v), "item"))
	default:
		text := fmt.Sprint(v)
		if !f.open() || len(text) > longest || strings.ContainsAny(text, "\n\r") || strings.Contains(text, "@") {
			return ""
		}
		return fmt.Sprintf(" (%s)", text)
	}
}

// open tells whether the value may be shown.
func (f field) open() bool {
	if f.of.kind == "Secret" || f.of.kind == "ConfigMap" {
		return false
	}
	if label := strings.HasPrefix(f.path, "metadata.labels"); !label && secretive.MatchString(f.path) {
		return false
	}
	_, isText := f.value.(string)
	return !isText || !strings.HasPrefix(f.path, "metadata.annotations")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
