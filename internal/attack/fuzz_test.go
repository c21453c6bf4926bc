// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"
	"testing/fstest"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// FuzzRead judges answers of an API server, or of whatever stands in its place. What is
// no denial of a wall must not be taken for one.
func FuzzRead(f *testing.F) {
	f.Add(403, `{"kind":"Status","message":"pods \"x\" is forbidden: ValidatingAdmissionPolicy 'tenantry-pods' with binding 'tenantry-pods' denied request: no [pods/account]"}`, PathCreate)
	f.Add(403, `{"message":"User \"x\" cannot create resource \"pods\""}`, PathApply)
	f.Add(200, `{"status":{"allowed":true,"reason":"RBAC: allowed by RoleBinding \"a/b\""}}`, "ask")
	f.Add(200, `[]`, "ask")
	f.Fuzz(func(t *testing.T, code int, body, path string) {
		a := read(Request{Path: path, Body: []byte("{}"), wants: map[string]any{"a": []any{map[string]any{"b": nil}}}}, code, []byte(body))
		if a.Passed && a.Wall != "" {
			t.Errorf("passed and refused: %+v", a)
		}
		if a.Wall != "" && code != 403 && path != "ask" {
			t.Errorf("an error %d counts as a wall: %+v", code, a)
		}
	})
}

// FuzzLoad reads suites.
func FuzzLoad(f *testing.F) {
	f.Add("objects: {a: {apiVersion: v1, kind: Pod}}\nattacks: [{id: x, title: y, of: a, wall: rbac, do: [create/token, +merge]}]")
	f.Add("attacks: [{id: x, title: y, carriers: [pod, none], pod: {a: $HOME}, wall: '*/x'}]")
	kinds := Kinds{}
	scene := NewScene(SceneFacts{Tenant: &v1alpha1.Tenant{}})
	f.Fuzz(func(_ *testing.T, content string) {
		s, err := load(fstest.MapFS{"suite/x.yaml": {Data: []byte(content)}})
		if err != nil {
			return
		}
		for _, a := range s.Attacks {
			_, _ = s.drafts(scene, kinds, a.Try, true)
			_, _ = s.drafts(scene, kinds, a.twin(), true)
		}
	})
}
