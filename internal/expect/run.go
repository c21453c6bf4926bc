// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/kube"
)

// Repositories are those that Flux fetches from, as far as they can be changed.
type Repositories interface {
	// Lay changes what is served under a URL; without files it is as it was again.
	Lay(ctx context.Context, url string, files map[string][]byte) error
	// Behind says what has not yet taken up what is served, or "".
	Behind(ctx context.Context) string
}

// Runner asks a cluster.
type Runner struct {
	cfg    *rest.Config
	client client.Client
	repos  Repositories
	cast   attack.Cast
	// Patience is how long a commit may take to have an outcome.
	Patience time.Duration
	// settled is until when objects are waited for: the cluster is at rest, and what is not
	// there then will not come.
	settled time.Time
	// moved is the tenant whose commit was taken back, until Flux has followed.
	moved string
}

// Result is what was seen.
type Result struct {
	Passed   bool
	Expected string
	Seen     string
}

// NewRunner makes one that acts with the rights of a configuration, which has to be let
// impersonate.
func NewRunner(ctx context.Context, cfg *rest.Config, repos Repositories) (*Runner, error) {
	cfg = kube.Unthrottled(cfg)
	c, err := kube.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	cast, err := attack.ReadCast(ctx, c)
	if err != nil {
		return nil, err
	}
	const patience, rest = time.Minute, 2 * time.Second
	return &Runner{cfg: cfg, client: c, repos: repos, cast: cast, Patience: patience, settled: time.Now().Add(rest)}, nil
}

// Run asks one thing.
func (r *Runner) Run(ctx context.Context, e Expectation) Result {
	r.settle(ctx)
	out := Result{Expected: e.Outcome}
	if e.By != "" {
		out.Expected += " by " + e.By
	}
	switch {
	case e.Request != nil:
		out.Passed, out.Seen = r.request(ctx, e)
	case e.Object != nil:
		out.Expected = e.Object.String() + " " + out.Expected
		for _, path := range slices.Sorted(maps.Keys(e.Fields)) {
			out.Expected += fmt.Sprintf(", %s: %s", path, jsonOf(e.Fields[path]))
		}
		out.Passed, out.Seen = r.object(ctx, e)
	default:
		out.Passed, out.Seen = r.commit(ctx, e)
	}
	return out
}

// judge compares an answer to a request with what is expected.
func judge(e Expectation, message string) (bool, string) {
	if message == "" {
		return e.Outcome == Allowed, "allowed"
	}
	if !refusal(message) {
		return false, "neither allowed nor refused: " + message // a mistake is no wall
	}
	wall, seen := attack.WallOf(message), "refused: "+message
	if wall != "" {
		seen = "refused by " + wall + ": " + message
	}
	return e.Outcome == Refused && (e.By == "" || e.By == wall), seen
}

// mistakes are refusals of what could not have been meant.
var mistakes = []string{"error looking up service account", "no PriorityClass with name", "because it is being terminated", "not found"}

// refusal tells whether a message says that something may not be, rather than that it
// can't.
func refusal(message string) bool {
	for _, s := range mistakes {
		if strings.Contains(message, s) {
			return false
		}
	}
	return strings.Contains(message, " is forbidden: ") || strings.Contains(message, "cross-namespace references have been blocked")
}

func (r *Runner) request(ctx context.Context, e Expectation) (bool, string) {
	who, why := r.subject(e.Request.As)
	if why != "" {
		return false, why
	}
	o := &unstructured.Unstructured{Object: normal(e.Request.Object)}
	if why := r.missing(ctx, e.Request.As, o); why != "" {
		return false, why
	}
	if e.Request.Subresource != "" || !slices.Contains(verbs, e.Request.Verb) {
		return r.review(ctx, e, who, o)
	}
	as, err := kube.NewClient(kube.As(r.cfg, who.User, who.Groups...))
	if err != nil {
		return false, err.Error()
	}
	switch err := r.send(ctx, as, e.Request.Verb, o); {
	case err == nil, e.Request.Verb == "get" && apierrors.IsNotFound(err): // it may look, and there is nothing
		return judge(e, "")
	case !apierrors.IsForbidden(err):
		return false, "neither allowed nor refused: " + err.Error()
	default:
		return judge(e, err.Error())
	}
}

// missing says what of a request is not on the cluster: who is nobody is refused whatever
// the walls are.
func (r *Runner) missing(ctx context.Context, as As, o *unstructured.Unstructured) string {
	if ns, name, ok := strings.Cut(as.ServiceAccount, "/"); ok {
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &corev1.ServiceAccount{}); err != nil {
			return fmt.Sprintf("who asks: ServiceAccount %s/%s: %v", ns, name, err)
		}
	}
	if ns := o.GetNamespace(); ns != "" {
		if err := r.client.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{}); err != nil {
			return fmt.Sprintf("what is asked for: Namespace %s: %v", ns, err)
		}
	}
	return ""
}

func (r *Runner) send(ctx context.Context, c client.Client, verb string, o *unstructured.Unstructured) error {
	switch verb {
	case "get":
		return c.Get(ctx, client.ObjectKeyFromObject(o), o)
	case "list":
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(o.GetKind() + "List"))
		return c.List(ctx, list, client.InNamespace(o.GetNamespace()))
	case "create":
		return c.Create(ctx, o, client.DryRunAll)
	case "apply":
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("tenantry-test"), client.ForceOwnership, client.DryRunAll)
	case "update":
		live := o.DeepCopy()
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
			return fmt.Errorf("there is nothing to update: %w", err)
		}
		o.SetResourceVersion(live.GetResourceVersion())
		return c.Update(ctx, o, client.DryRunAll)
	default:
		return c.Delete(ctx, o, client.DryRunAll)
	}
}

// review asks the authorizer alone.
func (r *Runner) review(ctx context.Context, e Expectation, who attack.Subject, o *unstructured.Unstructured) (bool, string) {
	mapping, err := r.client.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version)
	if err != nil {
		return false, err.Error()
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: e.Request.Verb, Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource,
			Subresource: e.Request.Subresource, Namespace: o.GetNamespace(), Name: o.GetName(),
		},
	}}
	// Asked as who it is about: the API server then knows the groups that everybody is in.
	as, err := kube.NewClient(kube.As(r.cfg, who.User, who.Groups...))
	if err != nil {
		return false, err.Error()
	}
	if err := as.Create(ctx, review); err != nil {
		return false, err.Error()
	}
	switch {
	case review.Status.Allowed:
		return e.Outcome == Allowed, "allowed: " + review.Status.Reason
	case review.Status.EvaluationError != "":
		return false, "neither allowed nor refused: " + review.Status.EvaluationError
	default:
		return e.Outcome == Refused && (e.By == "" || e.By == attack.WallRBAC), "refused by rbac"
	}
}

// subject is who asks, or why there is nobody.
func (r *Runner) subject(as As) (attack.Subject, string) {
	switch {
	case as.ServiceAccount != "":
		ns, name, _ := strings.Cut(as.ServiceAccount, "/")
		return attack.Account(ns, name), ""
	case as.User != "":
		return attack.Subject{User: as.User, Groups: append([]string{"system:authenticated"}, as.Groups...)}, ""
	}
	scene, err := r.cast.Scene(as.Tenant)
	if err != nil {
		return attack.Subject{}, err.Error()
	}
	who, ok := scene.Subjects[roles[as.Role]]
	if !ok {
		return who, fmt.Sprintf("tenant %s has no %s", as.Tenant, as.Role)
	}
	return who, ""
}

// object waits until an object is what is expected of it.
func (r *Runner) object(ctx context.Context, e Expectation) (passed bool, seen string) {
	for {
		passed, seen = r.look(ctx, e)
		if passed || time.Now().After(r.settled) || !pause(ctx) {
			return passed, seen
		}
	}
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(300 * time.Millisecond):
		return true
	}
}

func (r *Runner) look(ctx context.Context, e Expectation) (bool, string) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(e.Object.APIVersion, e.Object.Kind))
	err := r.client.Get(ctx, client.ObjectKey{Namespace: e.Object.Namespace, Name: e.Object.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return e.Outcome == Absent, "absent"
	case err != nil:
		return false, err.Error()
	case e.Outcome == Absent:
		return false, "it is there"
	}
	if e.Outcome == Ready {
		s, err := status.Compute(o)
		if err != nil {
			return false, err.Error()
		}
		if s.Status != status.CurrentStatus {
			return false, fmt.Sprintf("%s: %s", s.Status, s.Message)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(e.Fields)) {
		got, err := fieldOf(o.Object, path)
		if err != nil {
			return false, err.Error()
		}
		if jsonOf(got) != jsonOf(e.Fields[path]) {
			return false, fmt.Sprintf("%s: %s", path, jsonOf(got))
		}
	}
	return true, e.Outcome
}

// fieldOf is the value at a JSONPath, with or without its braces.
func fieldOf(o map[string]any, path string) (any, error) {
	expression := path
	if !strings.HasPrefix(path, "{") {
		expression = "{." + strings.TrimPrefix(path, ".") + "}"
	}
	p := jsonpath.New("field").AllowMissingKeys(true)
	if err := p.Parse(expression); err != nil {
		return nil, fmt.Errorf("field %s: %w", path, err)
	}
	found, err := p.FindResults(o)
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", path, err)
	}
	if len(found) == 0 || len(found[0]) == 0 {
		return nil, nil
	}
	if len(found[0]) == 1 {
		return found[0][0].Interface(), nil
	}
	var all []any
	for _, v := range found[0] {
		all = append(all, v.Interface())
	}
	return all, nil
}

func jsonOf(v any) string {
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(content)
}

// normal is an object of YAML as one of JSON: numbers are of the types that clients use.
func normal(o map[string]any) map[string]any {
	out := &unstructured.Unstructured{}
	content, err := json.Marshal(o)
	if err == nil {
		err = out.UnmarshalJSON(content)
	}
	if err != nil {
		return o // the API server says what is wrong with it
	}
	return out.Object
}
