// SPDX-License-Identifier: Apache-2.0

package policy

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Policy is a family of rules about one kind of object, or about kinds that share
// the fields it reads.
type Policy struct {
	// Name of the policy, without the prefix "tenantry-".
	Name string
	// Why it exists, for people.
	Why string
	// Match lists what it looks at.
	Match []Match
	// Except lists what it leaves alone although Match covers it.
	Except []Match
	// Tenants narrows it to namespaces that carry a tenant's label.
	Tenants bool
	// Label narrows it further, to namespaces that carry this label.
	Label string
	// Firm policies keep tenants apart, so no tenant is ever excepted from them.
	Firm bool
	// Holds says who is held. Default: everyone but the cluster and bypassers.
	Holds Audience
	// When are further conditions of looking at a request at all.
	When []Condition
	// Variables that rules use, in order.
	Variables []Variable
	// Rules that all must hold.
	Rules []Rule
}

// Audience is whom a policy holds.
type Audience int

const (
	// People holds everyone but the cluster's own controllers and those who bypass.
	People Audience = iota
	// Controllers holds the cluster's own controllers too: they make Pods of what
	// tenants wrote.
	Controllers
	// Everyone holds whoever asks.
	Everyone
)

// Match is resources of one API group and the operations on them.
type Match struct {
	Group string
	// Version, when set, is the one that objects are shown in, whichever a request
	// uses. By default each is shown as it was sent.
	Version    string
	Resources  []string
	Operations []admissionv1.OperationType
	// Namespaced leaves out cluster-scoped resources, which no selector of namespaces
	// does.
	Namespaced bool
}

// Condition is a named CEL expression that must be true for a policy to apply.
type Condition struct{ Name, CEL string }

// Variable is a named CEL expression.
type Variable struct{ Name, CEL string }

// Rule is one thing that must be true.
type Rule struct {
	// ID names the rule in tests, documents and audits.
	ID string
	// CEL must evaluate to true.
	CEL string
	// Message is a CEL expression for what a person reads: what, why and the mend.
	Message string
	// Allow is how a platform admin permits it, for documents. Empty where only an
	// exception does, or nothing.
	Allow string
}

// Rule names a rule, as spec.exceptions and the ends of messages have it.
func (p Policy) Rule(r Rule) string { return p.Name + "/" + r.ID }

// Find looks a rule up by its name.
func Find(name string) (Policy, Rule, bool) {
	for _, p := range All() {
		for _, r := range p.Rules {
			if p.Rule(r) == name {
				return p, r, true
			}
		}
	}
	return Policy{}, Rule{}, false
}

var (
	create      = []admissionv1.OperationType{admissionv1.Create}
	update      = []admissionv1.OperationType{admissionv1.Update}
	write       = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	writeDelete = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete}
)
