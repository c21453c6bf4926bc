// SPDX-License-Identifier: Apache-2.0

package admit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/tenantry/tenantry/config"
)

// Rights answers as RBAC does, from roles and bindings that it is given.
type Rights struct {
	clusterRoles map[string]*rbacv1.ClusterRole
	roles        map[string]*rbacv1.Role // by namespace/name
	bound        map[string][]grant      // by subject
}

// grant is a role that somebody has, in one namespace or in all.
type grant struct{ namespace, kind, role string }

// shipped are the roles that Tenantry installs.
var shipped = sync.OnceValues(func() ([]map[string]any, error) {
	paths, err := fs.Glob(config.Files, "rbac/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []map[string]any
	for _, p := range paths {
		content, err := config.Files.ReadFile(p)
		if err != nil {
			return nil, err
		}
		d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
		for {
			o := map[string]any{}
			err := d.Decode(&o)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			all = append(all, o)
		}
	}
	return all, nil
})

// NewRights are those that roles and bindings among objects give, on top of what
// Tenantry installs.
func NewRights(objects ...map[string]any) (*Rights, error) {
	r := &Rights{clusterRoles: map[string]*rbacv1.ClusterRole{}, roles: map[string]*rbacv1.Role{}, bound: map[string][]grant{}}
	base, err := shipped()
	if err != nil {
		return nil, err
	}
	for _, o := range base {
		r.Add(o)
	}
	for _, o := range objects {
		r.Add(o)
	}
	r.aggregate()
	return r, nil
}

// Add takes up an object, if it is a role or a binding.
func (r *Rights) Add(object map[string]any) {
	if apiVersion, _ := object["apiVersion"].(string); apiVersion != rbacv1.SchemeGroupVersion.String() {
		return
	}
	switch object["kind"] {
	case "ClusterRole":
		if o := (&rbacv1.ClusterRole{}); decode(object, o) {
			r.clusterRoles[o.Name] = o
		}
	case "Role":
		if o := (&rbacv1.Role{}); decode(object, o) {
			r.roles[o.Namespace+"/"+o.Name] = o
		}
	case "RoleBinding":
		if o := (&rbacv1.RoleBinding{}); decode(object, o) {
			r.bind(o.Subjects, grant{o.Namespace, o.RoleRef.Kind, o.RoleRef.Name})
		}
	case "ClusterRoleBinding":
		if o := (&rbacv1.ClusterRoleBinding{}); decode(object, o) {
			r.bind(o.Subjects, grant{"", o.RoleRef.Kind, o.RoleRef.Name})
		}
	}
}

func decode(object map[string]any, into any) bool {
	content, err := json.Marshal(object)
	return err == nil && json.Unmarshal(content, into) == nil
}

func (r *Rights) bind(subjects []rbacv1.Subject, g grant) {
	for _, s := range subjects {
		name := s.Name
		if s.Kind == rbacv1.ServiceAccountKind {
			name, _ = Account(s.Namespace, s.Name)
		}
		key := "user " + name
		if s.Kind == rbacv1.GroupKind {
			key = "group " + name
		}
		r.bound[key] = append(r.bound[key], g)
	}
}

// aggregate gathers the rules of roles that say which others they are made of.
func (r *Rights) aggregate() {
	for _, role := range r.clusterRoles {
		if role.AggregationRule == nil {
			continue
		}
		role.Rules = nil
		for _, s := range role.AggregationRule.ClusterRoleSelectors {
			selector, err := metav1.LabelSelectorAsSelector(&s)
			if err != nil {
				continue // the API server refuses it
			}
			for _, other := range r.clusterRoles {
				if other.AggregationRule == nil && selector.Matches(labels.Set(other.Labels)) {
					role.Rules = append(role.Rules, other.Rules...)
				}
			}
		}
	}
}

// Authorize answers for the API server's libraries.
func (r *Rights) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	resource := a.GetResource()
	if a.GetSubresource() != "" {
		resource += "/" + a.GetSubresource()
	}
	if r.may(who, a.GetVerb(), a.GetAPIGroup(), resource, a.GetNamespace(), a.GetName()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (r *Rights) may(who user.Info, verb, group, resource, namespace, name string) bool {
	keys := []string{"user " + who.GetName()}
	for _, g := range who.GetGroups() {
		keys = append(keys, "group "+g)
	}
	for _, key := range keys {
		for _, g := range r.bound[key] {
			if g.namespace != "" && g.namespace != namespace {
				continue
			}
			if slices.ContainsFunc(r.rules(g), func(rule rbacv1.PolicyRule) bool { return allows(rule, verb, group, resource, name) }) {
				return true
			}
		}
	}
	return false
}

func (r *Rights) rules(g grant) []rbacv1.PolicyRule {
	if g.kind == "Role" {
		if role := r.roles[g.namespace+"/"+g.role]; role != nil {
			return role.Rules
		}
		return nil
	}
	if role := r.clusterRoles[g.role]; role != nil {
		return role.Rules
	}
	return builtin(g.role)
}

// builtin is what is certain of Kubernetes' own roles.
func builtin(role string) []rbacv1.PolicyRule {
	if role == "cluster-admin" {
		return []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	}
	return nil
}

func allows(rule rbacv1.PolicyRule, verb, group, resource, name string) bool {
	has := func(list []string, want string) bool {
		return slices.Contains(list, "*") || slices.Contains(list, want)
	}
	_, sub, _ := strings.Cut(resource, "/")
	return has(rule.Verbs, verb) && has(rule.APIGroups, group) &&
		(has(rule.Resources, resource) || sub != "" && slices.Contains(rule.Resources, "*/"+sub)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, name))
}

// MayApply tells whether whoever asks may apply the object, as server-side apply needs
// it, and else which verb is lacking.
func (r *Rights) MayApply(q Request) (bool, string) {
	who := &user.DefaultInfo{Name: q.User, Groups: q.Groups}
	verbs := []string{"create", "patch"}
	if q.Old != nil {
		verbs = verbs[1:]
	}
	for _, verb := range verbs {
		if !r.may(who, verb, q.Kind.Group, q.Resource, q.namespace(), q.name()) {
			return false, verb
		}
	}
	return true, ""
}
