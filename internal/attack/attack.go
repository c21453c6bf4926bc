// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Walls that are not a rule of one of Tenantry's policies. Those are named
// policy/rule.
const (
	// WallRBAC is the authorizer: nobody gave the right.
	WallRBAC = "rbac"
	// WallEscalation is the API server's refusal to let anybody give what they have not.
	WallEscalation = "escalation"
	// WallPodSecurity is the Pod Security level of the namespace.
	WallPodSecurity = "pod-security"
	// WallQuota is the ResourceQuota of the namespace.
	WallQuota = "quota"
)

// Attack is one thing that somebody of a tenant, or a stranger, must not get done.
type Attack struct {
	// ID names it, for ever.
	ID string `json:"id"`
	// Title says what is tried.
	Title string `json:"title"`
	// Why says what it would cost. By default the policy of its wall says.
	Why string `json:"why,omitempty"`
	// Source says where it is known from: an advisory, a document.
	Source string `json:"source,omitempty"`
	// As is who tries.
	As Identity `json:"as,omitempty"`
	// Needs are values of a scene without which there is nothing to try, beside those
	// that its objects refer to.
	Needs []string `json:"needs,omitempty"`
	Try
	// Twin is the harmless request that has to pass: by default the same one with the
	// object as it is.
	Twin *Try `json:"twin,omitempty"`
	// Wall that must answer.
	Wall string `json:"wall"`
	// Carriers are the kinds that hold the PodSpec that Pod changes; the attack is made
	// with each, as one of its own.
	Carriers []string `json:"carriers,omitempty"`
	// Family is the file that it is from.
	Family string `json:"-"`
}

// Try is a request on one object, on one or more paths.
type Try struct {
	// Of names the object, among those of the suite.
	Of string `json:"of,omitempty"`
	// In is its namespace, by default $WEB.
	In string `json:"in,omitempty"`
	// With is merged over it.
	With map[string]any `json:"with,omitempty"`
	// Pod is merged over its PodSpec, wherever the kind has it.
	Pod map[string]any `json:"pod,omitempty"`
	// Do are the paths: see the constants. By default write.
	Do []string `json:"do,omitempty"`
	// May asks the authorizer instead, for what can't be tried without doing it.
	May *May `json:"may,omitempty"`
}

// May is a question to the authorizer.
type May struct {
	Verb     string `json:"verb,omitempty"`
	Group    string `json:"group,omitempty"`
	Resource string `json:"resource,omitempty"`
	Name     string `json:"name,omitempty"`
	// Path is a URL that is no resource: it is read, since nobody has to be asked.
	Path string `json:"path,omitempty"`
}

// Paths to an object. A subresource may follow after a slash, and onStaged may go before.
const (
	PathCreate    = "create"
	PathGenerate  = "generate"
	PathApply     = "apply"
	PathMerge     = "merge"
	PathStrategic = "strategic"
	PathJSON      = "json"
	PathPut       = "put"
	PathDelete    = "delete"
	PathSweep     = "deletecollection"
	PathGet       = "get"
	PathList      = "list"
	// PathWrite stands for the ways to make an object and, on a cluster where harmless
	// ones may be made first, for all of them and those to change one.
	PathWrite = "write"
	// PathMake stands for the ways to make one, for what no API lets change.
	PathMake = "make"
	// PathChange stands for every patch of an object that is there.
	PathChange = "change"
	// onStaged before a path says that it is to a harmless object made first.
	onStaged = "+"
)

// Suite is the attacks with the objects that they are made of.
type Suite struct {
	Attacks []*Attack
	objects map[string]map[string]any
}

// file is one file of the suite.
type file struct {
	// Objects are manifests by the names that attacks refer to them by.
	Objects map[string]map[string]any `json:"objects"`
	Attacks []*Attack                 `json:"attacks"`
}

//go:embed suite/*.yaml
var files embed.FS

// Load reads the whole suite.
func Load() (*Suite, error) { return load(files) }

func load(from fs.FS) (*Suite, error) {
	s := &Suite{objects: map[string]map[string]any{}}
	names, err := fs.Glob(from, "suite/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		var f file
		if err := yaml.UnmarshalStrict(content, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for key, o := range f.Objects {
			if s.objects[key] != nil {
				return nil, fmt.Errorf("%s: there is an object %s already", name, key)
			}
			s.objects[key] = o
		}
		for _, a := range f.Attacks {
			a.Family = strings.TrimSuffix(path.Base(name), ".yaml")
			s.Attacks = append(s.Attacks, expand(a)...)
		}
	}
	return s, s.check()
}

// carriers are the kinds that hold a PodSpec, and the policies that look at them.
var carriers = map[string]struct {
	policy string
	spec   []string
}{
	"pod":        {"pods", []string{"spec"}},
	"deployment": {"templates", []string{"spec", "template", "spec"}},
	"cronjob":    {"cronjobs", []string{"spec", "jobTemplate", "spec", "template", "spec"}},
}

// expand makes one attack of each carrier.
func expand(a *Attack) []*Attack {
	if len(a.Carriers) == 0 {
		return []*Attack{a}
	}
	var all []*Attack
	for _, c := range a.Carriers {
		one := *a
		one.ID = c + "-" + a.ID
		one.Title = a.Title + ", by a " + c
		one.Of = c
		one.Wall = strings.Replace(a.Wall, "*", carriers[c].policy, 1)
		all = append(all, &one)
	}
	return all
}

// check finds mistakes in the suite.
func (s *Suite) check() error {
	seen := map[string]bool{}
	for _, a := range s.Attacks {
		switch {
		case a.ID == "" || a.Title == "" || a.Wall == "":
			return fmt.Errorf("attack %q lacks an id, a title or a wall", cmp.Or(a.ID, a.Title))
		case seen[a.ID]:
			return fmt.Errorf("attack %s is there twice", a.ID)
		}
		seen[a.ID] = true
		for _, try := range []Try{a.Try, a.twin()} {
			if (try.May == nil) == (s.objects[try.Of] == nil) {
				return fmt.Errorf("attack %s is of the object %q, which is not there", a.ID, try.Of)
			}
			for _, do := range try.Do {
				if verb, _, _ := strings.Cut(strings.TrimPrefix(do, onStaged), "/"); !slices.Contains(verbs, verb) {
					return fmt.Errorf("attack %s: there is no path %s", a.ID, do)
				}
			}
		}
	}
	return nil
}

var verbs = []string{
	PathCreate, PathGenerate, PathApply, PathMerge, PathStrategic, PathJSON, PathPut, PathDelete, PathSweep,
	PathGet, PathList, PathWrite, PathMake, PathChange,
}

// twin is the harmless request, with what it leaves open taken from the attack.
func (a *Attack) twin() Try {
	if a.Twin == nil {
		return Try{Of: a.Of, In: a.In, Do: a.Do}
	}
	t := *a.Twin
	if t.May == nil && t.Of == "" {
		t.Of = a.Of
	}
	if t.In == "" {
		t.In = a.In
	}
	if len(t.Do) == 0 {
		t.Do = a.Do
	}
	return t
}

// Select keeps the attacks whose id, family or wall is among the names.
func (s *Suite) Select(names ...string) (*Suite, error) {
	if len(names) == 0 {
		return s, nil
	}
	out := &Suite{objects: s.objects}
	found := map[string]bool{}
	for _, a := range s.Attacks {
		keep := false
		for _, n := range names {
			if n == a.ID || n == a.Family || n == a.Wall || n == policyOf(a.Wall) {
				found[n], keep = true, true
			}
		}
		if keep {
			out.Attacks = append(out.Attacks, a)
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("there is no attack, family or wall %s; see --list", n)
		}
	}
	return out, nil
}

// Find is the attack of an id.
func (s *Suite) Find(id string) (*Attack, bool) {
	for _, a := range s.Attacks {
		if a.ID == id {
			return a, true
		}
	}
	return nil, false
}

// policyOf is the policy of a wall that is a rule, or "".
func policyOf(wall string) string {
	p, _, ok := strings.Cut(wall, "/")
	if !ok {
		return ""
	}
	return p
}
