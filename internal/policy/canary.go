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

// Canary renders the policy that tells whether an API server holds to a set of
// policies yet. It is written after them, and an API server reads policies in the
// order of writing: when it refuses a canary with the set's digest, it has them all.
func Canary(set []runtime.Object) (policy, binding runtime.Object, digest string) {
	digest = digestOf(set)
	p := Policy{
		Name:  "canary",
		Why:   "Tells whether the policies that were written before it are held to: no namespace is made under its name.",
		Match: []Match{{Resources: []string{"namespaces"}, Operations: create}},
		Firm:  true,
		Holds: Everyone,
		When:  []Condition{{"canary", fmt.Sprintf(`object.metadata.?name.orValue('').startsWith('%s')`, CanaryPrefix)}},
		Rules: []Rule{{ID: digest, CEL: `false`, Message: `'the walls stand'`}},
	}
	return p.enforcing(nil), bind(p.ObjectName(), admissionv1.Deny), digest
}

func digestOf(set []runtime.Object) string {
	bytes, err := json.Marshal(set)
	if err != nil {
		panic(fmt.Sprintf("policy: the set does not marshal: %v", err)) // typed API objects always do
	}
	sum := sha256.Sum256(bytes)
	return hex.EncodeToString(sum[:6])
}
