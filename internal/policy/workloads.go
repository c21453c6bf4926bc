// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Workloads hold Pods, and the templates of Pods, to the same rules: Pods are where
// the wall is, whoever makes them; templates are where a team learns of it, when it
// commits and not from a ReplicaSet's events.
var Workloads = []Policy{
	workload(Policy{
		Name: "pods",
		Why:  "Pods of a tenant run images, on nodes and with classes that its Tenant allows, and never as the account that its syncs run as.",
		Match: []Match{
			{Resources: []string{"pods", "pods/ephemeralcontainers"}, Operations: write},
		},
		Holds: Controllers,
		When:  []Condition{changed("spec")},
		Rules: []Rule{{
			// The scheduler binds by a subresource of its own.
			ID:      "node-name",
			CEL:     `request.operation != 'CREATE' || object.spec.?nodeName.orValue('') == ''`,
			Message: `'spec.nodeName goes past the scheduler: leave it out, and use a nodeSelector'`,
		}},
	}, "object.spec"),
	workload(Policy{
		Name: "templates",
		Why:  "Workloads of a tenant ask for no Pods that would be refused.",
		Match: []Match{
			{Group: "apps", Resources: []string{"deployments", "statefulsets", "daemonsets", "replicasets"}, Operations: write},
			{Group: "batch", Resources: []string{"jobs"}, Operations: write},
			{Resources: []string{"replicationcontrollers"}, Operations: write},
		},
		When: []Condition{changed("spec.template")},
		Rules: []Rule{{
			ID:      "node-name",
			CEL:     `object.spec.template.spec.?nodeName.orValue('') == ''`,
			Message: `'spec.template.spec.nodeName goes past the scheduler: leave it out, and use a nodeSelector'`,
		}},
	}, "object.spec.template.spec"),
	workload(Policy{
		Name:  "cronjobs",
		Why:   "CronJobs of a tenant ask for no Pods that would be refused.",
		Match: []Match{{Group: "batch", Resources: []string{"cronjobs"}, Operations: write}},
		When:  []Condition{changed("spec.jobTemplate")},
		Rules: []Rule{{
			ID:      "node-name",
			CEL:     `object.spec.jobTemplate.spec.template.spec.?nodeName.orValue('') == ''`,
			Message: `'nodeName goes past the scheduler: leave it out, and use a nodeSelector'`,
		}},
	}, "object.spec.jobTemplate.spec.template.spec"),
}

// workload adds the rules that all have in common, about the PodSpec at a path.
func workload(p Policy, spec string) Policy {
	p.Tenants = true
	p.Variables = slices.Concat([]Variable{{"pod", spec}}, podVariables)
	p.Rules = slices.Concat(p.Rules, podRules)
	return p
}

var podVariables = []Variable{
	tenantVariable, namespacesVariable, strangersVariable,
	list("registries", v1alpha1.RegistriesAnnotation),
	list("pullPolicies", v1alpha1.PullPoliciesAnnotation),
	list("priorityClasses", v1alpha1.PriorityClassesAnnotation),
	list("runtimeClasses", v1alpha1.RuntimeClassesAnnotation),
	list("tolerations", v1alpha1.TolerationsAnnotation),
	list("nodeSelectors", v1alpha1.NodeSelectorsAnnotation),
	{"images", `variables.pod.containers.map(c, c.?image.orValue(''))` +
		` + variables.pod.?initContainers.orValue([]).map(c, c.?image.orValue(''))` +
		` + variables.pod.?ephemeralContainers.orValue([]).map(c, c.?image.orValue(''))` +
		` + variables.pod.?volumes.orValue([]).filter(v, has(v.image)).map(v, v.image.?reference.orValue(''))`},
	// As the container runtime reads a short name.
	{"foreign", `variables.registries.size() == 0 ? [] : variables.images.map(i,` +
		` !i.contains('/') ? 'docker.io/library/' + i : i.split('/')[0].matches('[.:A-Z]|^localhost$') ? i : 'docker.io/' + i)` +
		`.filter(i, !variables.registries.exists(r, r.endsWith('/') ? i.startsWith(r) : i == r || i.startsWith(r + ':') || i.startsWith(r + '@')))`},
	{"pulls", `variables.pod.containers.map(c, c.?imagePullPolicy.orValue(''))` +
		` + variables.pod.?initContainers.orValue([]).map(c, c.?imagePullPolicy.orValue(''))` +
		` + variables.pod.?ephemeralContainers.orValue([]).map(c, c.?imagePullPolicy.orValue(''))` +
		` + variables.pod.?volumes.orValue([]).filter(v, has(v.image)).map(v, v.image.?pullPolicy.orValue(''))`},
	{"taints", `variables.pod.?tolerations.orValue([]).filter(t, !(t.?key.orValue('').startsWith('node.kubernetes.io/')` +
		` || t.?key.orValue('') in variables.tolerations || t.?operator.orValue('Equal') == 'Equal' && t.?key.orValue('') + '=' + t.?value.orValue('') in variables.tolerations))`},
	{"terms", `variables.pod.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])` +
		` + variables.pod.?affinity.?nodeAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(p, p.preference)`},
	// Pods that it wants near or far, by required and preferred terms.
	{"others", `variables.pod.?affinity.?podAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([])` +
		` + variables.pod.?affinity.?podAntiAffinity.?requiredDuringSchedulingIgnoredDuringExecution.orValue([])` +
		` + variables.pod.?affinity.?podAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(p, p.podAffinityTerm)` +
		` + variables.pod.?affinity.?podAntiAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([]).map(p, p.podAffinityTerm)`},
	{"common", `['kubernetes.io/arch', 'kubernetes.io/os', 'node.kubernetes.io/instance-type', 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region']`},
	// Where a Pod asks to be and may not.
	{"elsewhere", `variables.pod.?nodeSelector.orValue({}).map(k, k + '=' + variables.pod.nodeSelector[k]).filter(s, !(s in variables.nodeSelectors || s.split('=')[0] in variables.common))` +
		` + variables.terms.map(t, t.?matchExpressions.orValue([]).filter(e, !(e.operator in ['NotIn', 'DoesNotExist'] || e.key in variables.common` +
		` || e.operator == 'In' && e.?values.orValue([]).all(v, (e.key + '=' + v) in variables.nodeSelectors))).map(e, e.key + ' ' + e.operator + ' ' + e.?values.orValue([]).join('|')).join(', ')).filter(s, s != '')`},
}

var podRules = []Rule{
	{
		ID:      "account",
		CEL:     `variables.pod.?serviceAccountName.orValue('') != variables.tenant`,
		Message: `'serviceAccountName ' + variables.tenant + ' is the account of the tenant\'s syncs: make an account of your own for this'`,
	},
	{
		ID:      "registry",
		CEL:     `variables.foreign.size() == 0`,
		Message: `'image ' + variables.foreign.join(', ') + ' is from no allowed registry, allowed are: ' + ` + named("variables.registries") + ` + '; use one of these, or ask a platform admin to add it to spec.allow.registries of the Tenant'`,
		Allow:   "spec.allow.registries",
	},
	{
		// A template may leave it to the default; Pods always say.
		ID:      "pull-policy",
		CEL:     `variables.pullPolicies.size() == 0 || variables.pulls.all(p, p == '' || p in variables.pullPolicies)`,
		Message: `'imagePullPolicy: allowed are ' + ` + named("variables.pullPolicies") + ` + '; set one of these on every container and image volume'`,
		Allow:   "spec.allow.pullPolicies",
	},
	{
		ID:      "priority-class",
		CEL:     `variables.pod.?priorityClassName.orValue('') in [''] + variables.priorityClasses`,
		Message: `'priorityClassName ' + variables.pod.?priorityClassName.orValue('') + ` + ask("variables.priorityClasses", "leave it out", "spec.allow.priorityClasses"),
		Allow:   "spec.allow.priorityClasses",
	},
	{
		ID:      "runtime-class",
		CEL:     `variables.pod.?runtimeClassName.orValue('') in [''] + variables.runtimeClasses`,
		Message: `'runtimeClassName ' + variables.pod.?runtimeClassName.orValue('') + ` + ask("variables.runtimeClasses", "leave it out", "spec.allow.runtimeClasses"),
		Allow:   "spec.allow.runtimeClasses",
	},
	{
		ID:      "scheduler",
		CEL:     `variables.pod.?schedulerName.orValue('') in ['', 'default-scheduler']`,
		Message: `'schedulerName ' + variables.pod.?schedulerName.orValue('') + ' may place Pods where the default scheduler would not: leave it out'`,
	},
	{
		ID:      "tolerations",
		CEL:     `variables.taints.size() == 0`,
		Message: `'tolerations of ' + variables.taints.map(t, t.?key.orValue('') == '' ? 'every taint' : t.key + (t.?value.orValue('') == '' ? '' : '=' + t.value)).join(', ') + ' are not allowed, allowed are: ' + ` + named("variables.tolerations") + ` + '; leave them out, or ask a platform admin to add them to spec.allow.tolerations of the Tenant'`,
		Allow:   "spec.allow.tolerations",
	},
	{
		ID:      "node-selector",
		CEL:     `variables.elsewhere.size() == 0`,
		Message: `'nodes with ' + variables.elsewhere.join(', ') + ' may not be asked for, allowed are: ' + ` + named("variables.nodeSelectors") + ` + '; leave it out of nodeSelector and nodeAffinity, or ask a platform admin to add it to spec.allow.nodeSelectors of the Tenant'`,
		Allow:   "spec.allow.nodeSelectors",
	},
	{
		// The scheduler keeps to anti-affinity both ways: a Pod could keep others off a zone.
		ID:      "pod-affinity",
		CEL:     `variables.others.all(t, !has(t.namespaceSelector) && t.?namespaces.orValue([]).all(n, ` + within("n") + `))`,
		Message: `'podAffinity and podAntiAffinity reach beyond tenant ' + variables.tenant + ': leave out namespaceSelector, and name namespaces of the tenant only'`,
	},
	{
		// The DaemonSet controller names nodes this way; a tenant's template may not.
		ID:      "node-fields",
		CEL:     `variables.terms.all(t, t.?matchFields.orValue([]).size() == 0) || (oldObject != null && object.kind == 'Pod') || ` + cluster,
		Message: `'matchFields in a nodeAffinity name a node: leave them out, and use matchExpressions'`,
	},
}

// Devices holds the devices that Pods may claim. Requests in older versions of the API
// are looked at as v1.
var Devices = []Policy{
	devices("resourceclaims", "object.spec"),
	devices("resourceclaimtemplates", "object.spec.spec"),
}

func devices(resource, spec string) Policy {
	return Policy{
		Name:    resource,
		Why:     "A tenant claims devices of the classes that its Tenant allows, and never with admin access.",
		Match:   []Match{{Group: "resource.k8s.io", Version: "v1", Resources: []string{resource}, Operations: write}},
		Tenants: true,
		Holds:   Controllers,
		When:    []Condition{changed("spec")},
		Variables: []Variable{
			list("classes", v1alpha1.DeviceClassesAnnotation),
			{"requests", spec + `.?devices.?requests.orValue([])`},
			{"strange", `variables.requests.map(r, has(r.exactly) ? (r.exactly.deviceClassName in variables.classes ? '' : r.exactly.deviceClassName)` +
				` : r.?firstAvailable.orValue([]).filter(f, !(f.deviceClassName in variables.classes)).map(f, f.deviceClassName).join(', ')).filter(s, s != '')`},
		},
		Rules: []Rule{
			{
				ID:      "device-class",
				CEL:     `variables.strange.size() == 0`,
				Message: `'device class ' + variables.strange.join(', ') + ' is not allowed, allowed are: ' + ` + named("variables.classes") + ` + '; ask a platform admin to add it to spec.allow.deviceClasses of the Tenant'`,
				Allow:   "spec.allow.deviceClasses",
			},
			{
				ID:      "admin-access",
				CEL:     `variables.requests.all(r, !r.?exactly.?adminAccess.orValue(false))`,
				Message: `'adminAccess sees devices that others use: leave it out'`,
			},
		},
	}
}
