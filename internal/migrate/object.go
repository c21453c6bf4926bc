// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"encoding/json"
	"fmt"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// object is a document that is read. It remembers what was read of it.
type object struct {
	Document
	root  map[string]any
	group string
	kind  string
	// namespace and name of a Kubernetes object; of Tanzu Mission Control's documents
	// they are in fullName, and named by their reader.
	namespace, name string

	log    *notes
	tenant string
	// claimed is an object that a tenant, or the tool that is imported, has to do with.
	claimed bool
	// reads are the paths that were read, each with all below it.
	reads map[string]bool
	// known are places that were looked into, so that what is unread there is told apart.
	known map[string]bool
}

// parse takes a copy of a document in which numbers and maps are of the types that
// JSON has, whatever decoded it.
func parse(d Document, log *notes) (*object, error) {
	text, err := json.Marshal(d.Object)
	if err != nil {
		return nil, fmt.Errorf("%s: not an object of JSON: %w; write keys as strings", d.Place, err)
	}
	o := &object{Document: d, log: log, reads: map[string]bool{}, known: map[string]bool{}}
	if err := utiljson.Unmarshal(text, &o.root); err != nil {
		return nil, fmt.Errorf("%s: not an object of JSON: %w", d.Place, err)
	}
	version := o.at("apiVersion").peek()
	if group, _, ok := strings.Cut(version, "/"); ok {
		o.group = group
	}
	o.kind = o.at("kind").peek()
	o.namespace = o.at("metadata", "namespace").peek()
	o.name = o.at("metadata", "name").peek()
	return o, nil
}

// is tells whether the object is of a kind, in any version.
func (o *object) is(group, kind string) bool { return o.group == group && o.kind == kind }

// id tells objects of one cluster apart.
func (o *object) id() string { return o.group + "/" + o.kind + "/" + o.namespace + "/" + o.name }

// title is the object for people.
func (o *object) title() string {
	switch {
	case o.kind == "" && o.name == "":
		return "document"
	case o.namespace == "":
		return strings.TrimSpace(o.kind + " " + o.name)
	default:
		return strings.TrimSpace(o.kind + " " + o.namespace + "/" + o.name)
	}
}

// claim makes the object a tenant's, or the imported tool's when tenant is empty: all
// that is not read of it is noted.
func (o *object) claim(tenant string) {
	if !o.claimed {
		o.claimed, o.tenant = true, tenant
	}
}

// settle notes one thing about the object, and nothing of what is in it.
func (o *object) settle(tenant string, v Verdict, format string, args ...any) {
	o.claim(tenant)
	o.top().done()
	o.tell(v, format, args...)
}

// settled tells whether all was said of the object.
func (o *object) settled() bool { return o.reads[""] }

func (o *object) top() field { return field{of: o, value: o.root, found: true} }

func (o *object) at(keys ...string) field {
	f := o.top()
	for _, k := range keys {
		f = f.get(k)
	}
	return f
}

func (o *object) label(key string) field { return o.at("metadata", "labels", key) }

// fingerprint is the object as text, the same for the same content.
func (o *object) fingerprint() string {
	text, err := json.Marshal(o.root)
	if err != nil {
		return ""
	}
	return string(text)
}
