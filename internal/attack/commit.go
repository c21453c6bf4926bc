// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"errors"
	"slices"

	"sigs.k8s.io/yaml"
)

// Commit is an attack as a manifest in a tenant's repository, which Flux applies as the
// tenant's account.
type Commit struct {
	*Attack
	// Manifest makes the attack, Twin is harmless. An attack whose twin is no write has
	// none.
	Manifest, Twin []byte
}

// Commits are the attacks that a repository can make: those of the account that are an
// object to be applied. Objects of twins are named apart, so that none is there when
// the attack comes.
func (s *Suite) Commits(sc Scene, kinds Kinds) ([]Commit, error) {
	apart := sc
	apart.Values = map[string]any{}
	for k, v := range sc.Values {
		apart.Values[k] = v
	}
	apart.Values["NEW"] = sc.Tenant + "-harmless"
	var all []Commit
	for _, a := range s.Attacks {
		if a.As != "" && a.As != AsAccount || a.May != nil || sc.lets(a) != "" || !sc.has(a.Needs) {
			continue
		}
		manifest, err := s.applied(sc, kinds, a.Try)
		if errors.As(err, &missing{}) || err == nil && manifest == nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := Commit{Attack: a, Manifest: manifest}
		if t := a.twin(); t.May == nil {
			if c.Twin, err = s.applied(apart, kinds, t); err != nil && !errors.As(err, &missing{}) {
				return nil, err
			}
		}
		all = append(all, c)
	}
	return all, nil
}

func (s Scene) has(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { _, ok := s.Values[v]; return !ok })
}

// applied is the manifest of a try, or nil where it is not made by applying.
func (s *Suite) applied(sc Scene, kinds Kinds, t Try) ([]byte, error) {
	drafts, err := s.drafts(sc, kinds, t, false)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(drafts, func(d draft) bool { return d.path == PathApply })
	if i < 0 || removes(drafts[i].change) && slices.Contains(t.Do, PathChange) {
		return nil, nil
	}
	return yaml.Marshal(drafts[i].changed)
}

// removes tells whether a change takes something away, which applying can't.
func removes(change map[string]any) bool {
	for _, v := range change {
		if inner, ok := v.(map[string]any); v == nil || ok && removes(inner) {
			return true
		}
	}
	return false
}
