// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"slices"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Storage holds which volumes a tenant gets: new ones of an allowed class, or ones
// made from its own, and none that was another's.
var Storage = []Policy{
	{
		Name:    "volumeclaims",
		Why:     "A tenant's PersistentVolumeClaim asks for a new volume of an allowed class, or one made from what is in its own namespace.",
		Match:   []Match{{Resources: []string{"persistentvolumeclaims"}, Operations: write}},
		Tenants: true,
		// Claims of StatefulSets and of Pods' ephemeral volumes are made by the cluster for
		// the tenant; it also binds them, which is its own affair.
		Holds: Controllers,
		When:  []Condition{changed("spec"), {"not-binding", `request.operation == 'CREATE' || !(` + cluster + `)`}},
		Variables: []Variable{
			list("classes", v1alpha1.StorageClassesAnnotation),
			list("attributesClasses", v1alpha1.VolumeAttributesClassesAnnotation),
			{"annotations", `object.metadata.?annotations.orValue({})`},
		},
		Rules: []Rule{
			{
				// None at all gets the default class; an empty one asks for a volume that is there.
				ID:      "class",
				CEL:     `(!has(object.spec.storageClassName) || object.spec.storageClassName in variables.classes) && (!('volume.beta.kubernetes.io/storage-class' in variables.annotations) || variables.annotations['volume.beta.kubernetes.io/storage-class'] in variables.classes)`,
				Message: `'storage class "' + object.spec.?storageClassName.orValue(variables.annotations[?'volume.beta.kubernetes.io/storage-class'].orValue('')) + '" is not allowed, allowed are: ' + ` + named("variables.classes") + ` + '; use one of these, leave it out where the default is one, or ask a platform admin to add it to spec.allow.storageClasses of the Tenant'`,
				Allow:   "spec.allow.storageClasses",
			},
			{
				ID:      "volume-name",
				CEL:     `object.spec.?volumeName.orValue('') == (oldObject == null ? '' : oldObject.spec.?volumeName.orValue(''))`,
				Message: `'spec.volumeName asks for a volume that may hold what was another\'s: leave it out'`,
			},
			{
				ID:      "selector",
				CEL:     `!has(object.spec.selector)`,
				Message: `'spec.selector asks for a volume that is there already and may hold what was another\'s: leave it out'`,
			},
			{
				ID:      "data-source",
				CEL:     `object.spec.?dataSourceRef.?namespace.orValue('') in ['', request.namespace]`,
				Message: `'spec.dataSourceRef names namespace ' + object.spec.?dataSourceRef.?namespace.orValue('') + ': refer to namespace ' + request.namespace + ' only'`,
			},
			{
				ID:      "attributes-class",
				CEL:     `object.spec.?volumeAttributesClassName.orValue('') in [''] + variables.attributesClasses`,
				Message: `'volume attributes class ' + object.spec.?volumeAttributesClassName.orValue('') + ` + ask("variables.attributesClasses", "leave it out", "spec.allow.volumeAttributesClasses"),
				Allow:   "spec.allow.volumeAttributesClasses",
			},
		},
	},
	{
		Name: "volumes",
		Why:  "Volumes and the contents of snapshots are the cluster's: with one, a tenant could claim what was another's.",
		Match: []Match{
			{Resources: []string{"persistentvolumes"}, Operations: writeDelete},
			{Group: "snapshot.storage.k8s.io", Resources: []string{"volumesnapshotcontents"}, Operations: writeDelete},
		},
		Firm: true,
		Rules: []Rule{{
			ID:      "platform-only",
			CEL:     `!` + may(v1alpha1.VerbProvision),
			Message: `request.resource.resource + ' are the platform\'s: use a PersistentVolumeClaim or a VolumeSnapshot'`,
		}},
	},
	{
		Name:      "snapshots",
		Why:       "A tenant's VolumeSnapshot is of a claim in its own namespace.",
		Match:     []Match{{Group: "snapshot.storage.k8s.io", Resources: []string{"volumesnapshots"}, Operations: write}},
		Tenants:   true,
		When:      []Condition{changed("spec")},
		Variables: append(slices.Clone(requester), list("classes", v1alpha1.SnapshotClassesAnnotation)),
		Rules: []Rule{
			{
				ID:      "content",
				CEL:     `object.spec.source.?volumeSnapshotContentName.orValue('') == ''`,
				Message: `'spec.source.volumeSnapshotContentName asks for a snapshot that may be another\'s: name a claim in persistentVolumeClaimName'`,
			},
			{
				// The snapshot controller writes the default class, which no list has to name.
				ID:      "class",
				CEL:     `!variables.ofTenant || object.spec.?volumeSnapshotClassName.orValue('') in [''] + variables.classes`,
				Message: `'snapshot class ' + object.spec.?volumeSnapshotClassName.orValue('') + ` + ask("variables.classes", "leave it out for the default", "spec.allow.snapshotClasses"),
				Allow:   "spec.allow.snapshotClasses",
			},
		},
	},
}
