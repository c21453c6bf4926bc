// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"flag"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/policy"
	"github.com/tenantry/tenantry/internal/testkit"
)

// denials holds a message of every rule that was seen to refuse, as a person reads it.
var denials = struct {
	sync.Mutex
	seen map[string]string
}{seen: map[string]string{}}

// denied notes a denial. Of several, the least in order stays, so that runs agree.
func denied(rule, message string) {
	if _, after, ok := strings.Cut(message, "denied request: "); ok {
		message = after
	}
	denials.Lock()
	defer denials.Unlock()
	if before, ok := denials.seen[rule]; !ok || message < before {
		denials.seen[rule] = message
	}
}

// TestZDenials runs last: it sees that every rule was seen to refuse, and keeps what it
// said for the documents.
func TestZDenials(t *testing.T) {
	api := testkit.Get(t)
	if flag.Lookup("test.run").Value.String() != "" {
		t.Skip("-run leaves out the tests whose denials are collected")
	}
	for _, p := range policy.All() {
		for _, r := range p.Rules {
			if denials.seen[p.Rule(r)] == "" {
				t.Errorf("no test saw %s refuse", p.Rule(r))
			}
		}
	}
	if !stamps(t, api) {
		return // the documents are of the newest Kubernetes
	}
	out, err := yaml.Marshal(denials.seen)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "denials.yaml", string(out))
}
