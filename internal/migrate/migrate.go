// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Document is one object of what is imported, and where it is.
type Document struct {
	// Place is "file:line", or "cluster" for an object read from one.
	Place string
	// Environment is the overlay or cluster that it was rendered for, as staging; empty
	// when there is one only.
	Environment string
	// Object is the decoded YAML or JSON; for chart values the values.
	Object map[string]any
}

// Verdict says what became of something.
type Verdict string

// The verdicts.
const (
	// Lost has no equivalent.
	Lost Verdict = "Lost"
	// Stricter is refused now, or allowed to fewer.
	Stricter Verdict = "Stricter"
	// Changed means something else now, or lives elsewhere.
	Changed Verdict = "Changed"
	// Do is for a person.
	Do Verdict = "Do"
)

// Note tells of one thing that is not carried over as it was.
type Note struct {
	// Tenant that it is about; empty when it is about none, or about all.
	Tenant string `json:"tenant,omitempty"`
	// Verdict says what became of it.
	Verdict Verdict `json:"verdict"`
	// Place of the object; several are separated by commas.
	Place string `json:"place,omitempty"`
	// Object as Kind namespace/name.
	Object string `json:"object,omitempty"`
	// Field of the object, as spec.ingressOptions.allowedHostnames; empty for the whole of it.
	Field string `json:"field,omitempty"`
	// What happened, in one sentence, with the mend.
	What string `json:"what"`
}

// Tenant is a Tenant and where it lives.
type Tenant struct {
	// Tenant has its type, name and spec.
	Tenant *v1alpha1.Tenant
	// Environments that it is in, sorted; nil when the documents say nothing of any.
	Environments []string
	// Syncs per environment, where they differ between environments; spec.syncs is
	// empty then. Nil otherwise.
	Syncs map[string][]v1alpha1.Sync
}

// Result is what became of the documents.
type Result struct {
	// Tenants, sorted by name.
	Tenants []Tenant
	// Notes, sorted.
	Notes []Note
}
