// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/tree"
	"github.com/tenantry/tenantry/internal/words"
)

// Dir is where a fleet keeps its expectations.
const Dir = "tests"

// Kind of the files.
const Kind = "Expectations"

// Schema is the JSON schema of the files, for editors.
//
//go:embed schema.json
var Schema []byte

// Outcomes that can be expected.
const (
	Allowed = "allowed"
	Refused = "refused"
	Ready   = "ready"
	Exists  = "exists"
	Absent  = "absent"
)

// File is one file of expectations.
type File struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	// Clusters that they are about; none are all.
	Clusters []string      `yaml:"clusters"`
	Expect   []Expectation `yaml:"expect"`
}

// Expectation is one thing that is asked, with what is expected.
type Expectation struct {
	Name string `yaml:"name"`
	// One of the three.
	Request *Request `yaml:"request"`
	Object  *Ref     `yaml:"object"`
	Commit  *Commit  `yaml:"commit"`
	// Outcome that is expected: of a request allowed or refused, of an object ready,
	// exists or absent, of a commit ready or refused.
	Outcome string `yaml:"outcome"`
	// By is the wall that refuses: rbac, pod-security, quota or a rule, as policy/rule.
	By string `yaml:"by"`
	// Fields of an object, by JSONPath, and their values.
	Fields map[string]any `yaml:"fields"`

	// File and Line that it is written at, and the clusters of its file.
	File     string   `yaml:"-"`
	Line     int      `yaml:"-"`
	Clusters []string `yaml:"-"`
}

// Request is something that somebody asks of the API server. What would write is a dry
// run.
type Request struct {
	As   As     `yaml:"as"`
	Verb string `yaml:"verb"`
	// Object with its apiVersion, kind and metadata; all of it where it is written.
	Object map[string]any `yaml:"object"`
	// Subresource of it, as log or exec: then only RBAC is asked.
	Subresource string `yaml:"subresource"`
}

// As is who asks.
type As struct {
	// Tenant whose account asks, or with Role another of its people.
	Tenant string `yaml:"tenant"`
	Role   string `yaml:"role"`
	// User and Groups, or a ServiceAccount as namespace/name.
	User           string   `yaml:"user"`
	Groups         []string `yaml:"groups"`
	ServiceAccount string   `yaml:"serviceAccount"`
}

// Ref is an object on the cluster.
type Ref struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
	Namespace  string `yaml:"namespace"`
	Name       string `yaml:"name"`
}

func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Commit is a change of a tenant's repository.
type Commit struct {
	// Tenant whose repository it is, and, where it has several, the sync.
	Tenant string `yaml:"tenant"`
	Sync   string `yaml:"sync"`
	// Files by path, with their new content; null removes one.
	Files map[string]*string `yaml:"files"`
}

// Roles that a tenant's people can have.
var roles = map[string]attack.Identity{
	"": attack.AsAccount, "account": attack.AsAccount, "owner": attack.AsOwner, "editor": attack.AsEditor,
	"viewer": attack.AsViewer, "workload": attack.AsWorkload,
}

// verbs that are sent as they are; others RBAC alone is asked about.
var verbs = []string{"get", "list", "create", "apply", "update", "delete"}

// Load reads all expectations of a fleet. There need not be any.
func Load(root string) ([]Expectation, error) {
	dir := filepath.Join(root, Dir)
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	var all []Expectation
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ext := filepath.Ext(path); e.IsDir() || ext != ".yaml" && ext != ".yml" || strings.HasPrefix(e.Name(), ".") {
			return nil // editors keep their own beside what is edited
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		more, err := read(path, filepath.ToSlash(filepath.Join(Dir, below)))
		all = append(all, more...)
		return err
	})
	return all, err
}

func read(path, name string) ([]Expectation, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	strict, plain := yaml.NewDecoder(bytes.NewReader(content)), yaml.NewDecoder(bytes.NewReader(content))
	strict.KnownFields(true)
	var all []Expectation
	for {
		f, doc := File{}, yaml.Node{}
		if err := plain.Decode(&doc); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, tree.YAMLError(path, err)
		}
		kind := struct{ APIVersion, Kind string }{}
		_ = doc.Decode(&kind) // what it is not is told below
		if kind.Kind != Kind {
			return nil, &tree.Error{File: path, Line: 1, What: fmt.Sprintf("kind %q: %s/ is for files of apiVersion: tenantry.dev/v1alpha1 and kind: %s", kind.Kind, Dir, Kind)}
		}
		if err := strict.Decode(&f); err != nil {
			return nil, tree.YAMLError(path, err)
		}
		if f.APIVersion != "tenantry.dev/v1alpha1" {
			return nil, &tree.Error{File: path, Line: 1, What: fmt.Sprintf("apiVersion %q: want tenantry.dev/v1alpha1", f.APIVersion)}
		}
		lines := linesOf(&doc)
		for i, e := range f.Expect {
			e.File, e.Clusters = name, f.Clusters
			if i < len(lines) {
				e.Line = lines[i]
			}
			if what := e.wrong(); what != "" {
				return nil, &tree.Error{File: path, Line: e.Line, What: what}
			}
			all = append(all, e)
		}
	}
}

// linesOf are those that the entries of expect begin at.
func linesOf(doc *yaml.Node) []int {
	var lines []int
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value == "expect" {
			for _, n := range top.Content[i+1].Content {
				lines = append(lines, n.Line)
			}
		}
	}
	return lines
}

// wrong says what an expectation lacks, or "".
func (e *Expectation) wrong() string {
	if e.Name == "" {
		return "an expectation without a name"
	}
	var outcomes []string
	n := 0
	if e.Request != nil {
		n, outcomes = n+1, []string{Allowed, Refused}
	}
	if e.Object != nil {
		n, outcomes = n+1, []string{Ready, Exists, Absent}
	}
	if e.Commit != nil {
		n, outcomes = n+1, []string{Ready, Refused}
	}
	switch {
	case n != 1:
		return fmt.Sprintf("%s: say one of request, object and commit", e.Name)
	case e.Outcome == "" && e.Object != nil:
		e.Outcome = Exists
	case !slices.Contains(outcomes, e.Outcome):
		return fmt.Sprintf("%s: outcome %q: want one of %s%s", e.Name, e.Outcome, strings.Join(outcomes, ", "), meant(e.Outcome, outcomes))
	}
	switch {
	case e.By != "" && e.Outcome != Refused:
		return fmt.Sprintf("%s: by says which wall refuses, and the outcome is %s", e.Name, e.Outcome)
	case len(e.Fields) > 0 && (e.Object == nil || e.Outcome == Absent):
		return fmt.Sprintf("%s: fields are of an object that is there", e.Name)
	case e.Request != nil:
		return e.Request.wrong(e.Name)
	case e.Object != nil && (e.Object.APIVersion == "" || e.Object.Kind == "" || e.Object.Name == ""):
		return fmt.Sprintf("%s: object: want apiVersion, kind and name, and of most a namespace", e.Name)
	case e.Commit != nil && (e.Commit.Tenant == "" || len(e.Commit.Files) == 0):
		return fmt.Sprintf("%s: commit: want a tenant and files", e.Name)
	}
	return ""
}

func (r *Request) wrong(name string) string {
	who := 0
	for _, s := range []string{r.As.Tenant, r.As.User, r.As.ServiceAccount} {
		if s != "" {
			who++
		}
	}
	all := make([]string, 0, len(roles))
	for k := range roles {
		all = append(all, k)
	}
	slices.Sort(all)
	object := ref(r.Object)
	_, known := roles[r.As.Role]
	switch {
	case who != 1:
		return name + ": as: say one of tenant, user and serviceAccount"
	case !known:
		return fmt.Sprintf("%s: as.role %q: want one of %s", name, r.As.Role, strings.Join(all[1:], ", "))
	case r.As.Role != "" && r.As.Tenant == "":
		return name + ": as.role is of a tenant's people: name the tenant"
	case r.As.ServiceAccount != "" && strings.Count(r.As.ServiceAccount, "/") != 1:
		return fmt.Sprintf("%s: as.serviceAccount %q: want namespace/name", name, r.As.ServiceAccount)
	case r.Verb == "":
		return name + ": request without a verb: want " + strings.Join(verbs, ", ") + ", or another that RBAC alone is asked about"
	case object.APIVersion == "" || object.Kind == "":
		return name + ": request.object: want apiVersion and kind, and metadata with what it is about"
	case object.Name == "" && slices.Contains([]string{"get", "apply", "update", "delete"}, r.Verb) && r.Subresource == "":
		return fmt.Sprintf("%s: request.object: %s wants metadata.name", name, r.Verb)
	}
	return ""
}

// ref is what an object is called.
func ref(o map[string]any) Ref {
	text := func(v any) string { s, _ := v.(string); return s }
	meta, _ := o["metadata"].(map[string]any)
	return Ref{text(o["apiVersion"]), text(o["kind"]), text(meta["namespace"]), text(meta["name"])}
}

func meant(word string, all []string) string {
	if near := words.Nearest(word, all); near != "" && word != "" {
		return fmt.Sprintf("; is %s meant?", near)
	}
	return ""
}
