// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CanaryPrefix begins the names of namespaces that can't be made, by anybody.
const CanaryPrefix = "tenantry-canary-"

// Canary renders the policy that tells, by the mark in its denials, whether an API server
// holds to a set of policies yet.
//
// API servers learn of policies in the order of writing, but gather what they hold to one
// by one, in any order, about once a second. Policies that are written while they gather
// may be missed by a round that already sees the canary. So a canary with a first mark is
// written after the set and awaited, and then one with another: the round that shows this
// one began when the set was known.
func Canary(mark string) (policy, binding runtime.Object) {
	p := Policy{
		Name:  "canary",
		Why:   "Tells whether the policies that were written before it are held to: no namespace is made under its name.",
		Match: []Match{{Resources: []string{"namespaces"}, Operations: create}},
		Firm:  true,
		Holds: Everyone,
		When:  []Condition{{"canary", fmt.Sprintf(`object.metadata.?name.orValue('').startsWith('%s')`, CanaryPrefix)}},
		Rules: []Rule{{ID: mark, CEL: `false`, Message: `'the walls stand'`}},
	}
	return p.enforcing(nil), bind(p.ObjectName(), admissionv1.Deny)
}

// Digest of a set of policies: the mark that its canary keeps.
func Digest(set []runtime.Object) string {
	bytes, err := json.Marshal(set)
	if err != nil {
		panic(fmt.Sprintf("policy: the set does not marshal: %v", err)) // typed API objects always do
	}
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:6])
}
