// SPDX-License-Identifier: Apache-2.0

package attack

import "context"

// Lacking are the rights that a run needs and does not have, in words, each with what
// can't be tested without it.
func (r *Runner) Lacking(ctx context.Context) ([]string, error) {
	var lacking []string
	for _, need := range []struct {
		attributes map[string]any
		without    string
	}{
		{map[string]any{"verb": "impersonate", "resource": "serviceaccounts"}, "impersonate serviceaccounts: no attack by an account is tested"},
		{map[string]any{"verb": "impersonate", "resource": "users"}, "impersonate users: no attack by a person is tested"},
		{map[string]any{"verb": "impersonate", "resource": "groups"}, "impersonate groups: no attack by a member of a group is tested"},
		{map[string]any{"verb": "get", "resource": "namespaces"}, "get namespaces: no attack by replacing or JSON-patching one is tested"},
	} {
		q, err := question(need.attributes)
		if err != nil {
			return nil, err
		}
		answer, err := r.send(ctx, Subject{}, q)
		if err != nil {
			return nil, err
		}
		if !answer.Passed {
			lacking = append(lacking, need.without)
		}
	}
	return lacking, nil
}
