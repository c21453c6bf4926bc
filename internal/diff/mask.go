// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"regexp"
	"slices"
	"strings"
)

// mask stands for a value that is nobody's business.
const mask = "***"

// private are fields whose names say that their values are nobody's business, as in the
// values of a HelmRelease. One that names a Secret is none of them.
var private = regexp.MustCompile(`(?i)(password|passwd|passphrase|token|api[-_]?key|private[-_]?key|secret[-_]?key|client[-_]?secret|credentials)$`)

// userinfo is what stands before the host of a URL, and may be a password.
var userinfo = regexp.MustCompile(`://[^/@\s"]+@`)

// lastApplied is the annotation in which kubectl keeps a whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// open are the fields of a Secret that are no secret, also when it is not as it should be.
var open = []string{"apiVersion", "kind", "metadata", "type", "immutable"}

// Masked is an object as it may be shown: without the values of a Secret, of fields that
// are called passwords or tokens, in URLs, and of the hidden texts that came into it from
// Secrets.
func Masked(object map[string]any, hidden ...string) map[string]any {
	out, _ := masked(object, "", hidden).(map[string]any)
	if object["kind"] == "Secret" {
		for k, v := range object {
			if !slices.Contains(open, k) {
				out[k] = hide(v)
			}
		}
	}
	return out
}

func masked(v any, name string, hidden []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, sub := range v {
			out[k] = masked(sub, k, hidden)
		}
		if n, ok := v["name"].(string); ok && private.MatchString(n) && v["value"] != nil {
			out["value"] = mask // an environment variable
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, sub := range v {
			out[i] = masked(sub, "", hidden)
		}
		return out
	case string:
		if v != "" && (private.MatchString(name) || name == lastApplied) {
			return mask
		}
		for _, h := range hidden {
			v = strings.ReplaceAll(v, h, mask)
		}
		return userinfo.ReplaceAllString(v, "://"+mask+"@")
	default:
		return v
	}
}

// hide is what may be said of a secret value: that it is there.
func hide(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case map[string]any:
		out := map[string]any{}
		for k := range v {
			out[k] = mask
		}
		return out
	default:
		return mask
	}
}
