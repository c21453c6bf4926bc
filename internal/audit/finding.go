// SPDX-License-Identifier: Apache-2.0

package audit

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	// Error: a wall is open.
	Error Severity = "error"
	// Warning: a wall stands, and something leans against it.
	Warning Severity = "warning"
	// Info: worth knowing, and may be meant.
	Info Severity = "info"
)

// Finding is one thing that weakens the walls.
type Finding struct {
	// ID names the check, or the attack, that found it.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Tenant that it is about, or "" for all.
	Tenant string `json:"tenant,omitempty"`
	// Wall that it opens or weakens.
	Wall string `json:"wall,omitempty"`
	// Object that is to blame: a binding, a role, a policy, a controller.
	Object string `json:"object"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Mend says what to do.
	Mend string `json:"mend"`
}

// Check is one look at a cluster.
type Check struct {
	ID    string
	Title string
	// Needs are the kinds without which it can't be made.
	Needs []string
	run   func(*Facts) []Finding
	// unless says why there is nothing to look at, or "".
	unless func(*Facts) string
}

// Checks are all of them, in the order of reporting.
func Checks() []Check {
	return []Check{
		{"policies", "Tenantry's policies are present, bound, as they were installed and without type-check warnings", []string{kindPolicies, kindPolicyBindings}, policies, nil},
		{"roles", "Tenantry's own roles are as they were installed", []string{kindClusterRoles}, roles, nil},
		{"aggregated-roles", "no aggregated role widens tenants or the controller", []string{kindClusterRoles}, aggregated, nil},
		{"controller-rights", "the controller has no right but its own", []string{kindClusterRoleBindings, kindRoleBindings}, controllerRights, nil},
		{"rights-from-elsewhere", "nobody of a tenant has rights that its Tenant does not give", []string{kindClusterRoles, kindClusterRoleBindings, kindRoleBindings}, rightsFromElsewhere, nil},
		{"namespaces", "every namespace that claims a tenant is adopted by it", []string{kindTenants, kindNamespaces}, unadopted, nil},
		{"flux-lockdown", "every Flux controller runs with the flags that keep tenants apart", []string{kindDeployments}, lockdown, noFlux},
		{"flux-version", "Flux is new enough", []string{kindDeployments}, versions, noFlux},
		{"flux-root", "the platform's own syncs name their account", []string{kindNamespaces, kindKustomizations}, rootAccounts, nil},
		{"webhooks", "no webhook of others stops tenants when it is down", []string{kindNamespaces, kindValidatingWebhooks, kindMutatingWebhooks}, webhooks, nil},
	}
}

// Read makes every check for which the facts are there. The others are returned with
// what they lack.
func Read(f *Facts) (findings []Finding, skipped map[string]string) {
	skipped = map[string]string{}
	for _, c := range Checks() {
		for _, kind := range c.Needs {
			if why := f.Lacking[kind]; why != "" && skipped[c.ID] == "" {
				skipped[c.ID] = why
			}
		}
		if skipped[c.ID] == "" && c.unless != nil {
			skipped[c.ID] = c.unless(f)
		}
		if skipped[c.ID] != "" {
			continue
		}
		delete(skipped, c.ID)
		for _, found := range c.run(f) {
			found.ID = c.ID
			findings = append(findings, found)
		}
	}
	return findings, skipped
}
