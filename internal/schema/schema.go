// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// newest serves Tenants; they are the same for every minor.
var newest = sync.OnceValues(func() (*Set, error) { return For(Newest) })

// Tenant is what the API server would refuse about a Tenant that is created, in its
// words: nil when it would take it.
func Tenant(t *v1alpha1.Tenant) error {
	s, err := newest()
	if err != nil {
		return err
	}
	t = t.DeepCopy()
	t.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Tenant"))
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	if err != nil {
		return err
	}
	problems, err := s.Check(object)
	if err != nil || len(problems) == 0 {
		return err
	}
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.What)
	}
	slices.Sort(lines)
	return errors.New(strings.Join(slices.Compact(lines), "; "))
}

// userinfo is what stands before the host of a URL, and may be a secret.
var userinfo = regexp.MustCompile(`://[^/@\s"]+@`)
