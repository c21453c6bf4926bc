// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"encoding/json"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

var levels = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// templates are where kinds hold the Pods that they make.
var templates = map[string][]string{
	"Pod":         nil,
	"PodTemplate": {"template"},
	"Deployment":  {"spec", "template"}, "StatefulSet": {"spec", "template"}, "DaemonSet": {"spec", "template"},
	"ReplicaSet": {"spec", "template"}, "ReplicationController": {"spec", "template"}, "Job": {"spec", "template"},
	"CronJob": {"spec", "jobTemplate", "spec", "template"},
}

// Pods tells whether a kind is a Pod or makes some, and at which path it has them.
func Pods(kind string) ([]string, bool) {
	path, ok := templates[kind]
	return path, ok
}

// PodSecurity is why Pods of an object would be refused at the level that its namespace
// enforces; "" when they would not.
func PodSecurity(r Request) string {
	path, ok := templates[r.Kind.Kind]
	level := (&unstructured.Unstructured{Object: r.Namespace}).GetLabels()[api.EnforceLevelLabel]
	if !ok || level == "" {
		return ""
	}
	parsed, err := api.ParseLevel(level)
	if err != nil {
		return ""
	}
	template := r.Object
	if len(path) > 0 {
		if template, ok, err = unstructured.NestedMap(r.Object, path...); err != nil || !ok {
			return ""
		}
	}
	content, err := json.Marshal(template)
	if err != nil {
		return ""
	}
	pod := struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     corev1.PodSpec    `json:"spec"`
	}{}
	if json.Unmarshal(content, &pod) != nil {
		return "" // what is wrong with it, its schema tells
	}
	evaluator, err := levels()
	if err != nil {
		return ""
	}
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(api.LevelVersion{Level: parsed, Version: api.LatestVersion()}, &pod.Metadata, &pod.Spec))
	if result.Allowed {
		return ""
	}
	return strings.TrimSuffix(level+": "+result.ForbiddenDetail(), ", ")
}
