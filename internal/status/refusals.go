// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// most refusals are told of; a team that mends these sees the next.
const most = 10

// denial is how a message of ours ends, wherever it was passed on: what the API server
// says before it, our words, and the rule in brackets.
var denial = regexp.MustCompile(`(?s)ValidatingAdmissionPolicy 'tenantry-[^']*' with binding '[^']*' denied request: (.*?) \[([a-z-]{1,63}/[A-Za-z.-]{1,63})\]`)

// longest is how much of an event is read. A tenant may write events of its own.
const longest = 16 << 10

// Refused tells whether an event passes on a denial of ours.
func Refused(e *corev1.Event) bool { return denial.MatchString(head(e.Message)) }

func head(message string) string {
	if len(message) > longest {
		return strings.ToValidUTF8(message[:longest], "")
	}
	return message
}

// Refusals are what events of a tenant's namespaces tell of denials: each once for the
// object that reports it, the newest first.
// known tells rules from what somebody made up.
func Refusals(events []*corev1.Event, known func(rule string) bool) []v1alpha1.Refusal {
	type key struct{ object, rule string }
	seen := map[key]v1alpha1.Refusal{}
	for _, e := range events {
		for _, m := range denial.FindAllStringSubmatch(head(e.Message), -1) {
			if !known(m[2]) {
				continue
			}
			r := v1alpha1.Refusal{
				Object:  Clip(e.InvolvedObject.Kind + " " + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name),
				Rule:    m[2],
				Message: Clip(strings.Join(strings.Fields(m[1]), " ")),
				Since:   since(e),
			}
			k := key{r.Object, r.Rule}
			if before, ok := seen[k]; !ok || r.Since.Before(&before.Since) {
				seen[k] = r
			}
		}
	}
	all := make([]v1alpha1.Refusal, 0, len(seen))
	for _, r := range seen {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b v1alpha1.Refusal) int {
		return cmp.Or(b.Since.Compare(a.Since.Time), strings.Compare(a.Object, b.Object), strings.Compare(a.Rule, b.Rule))
	})
	return all[:min(len(all), most)]
}

// since is when an event was first seen, in whole seconds as the API keeps them.
func since(e *corev1.Event) metav1.Time {
	for _, t := range []metav1.Time{e.FirstTimestamp, {Time: e.EventTime.Time}, e.CreationTimestamp} {
		if !t.IsZero() {
			return t.Rfc3339Copy()
		}
	}
	return metav1.Time{}
}

// Clip keeps a message within what the API takes.
func Clip(message string) string {
	const most = 1000
	if len(message) > most {
		return strings.ToValidUTF8(message[:most], "") + " ..."
	}
	return message
}
