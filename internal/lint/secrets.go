// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
	"github.com/tenantry/tenantry/internal/tree"
)

// creationRule is one of .sops.yaml: which fields of which files are encrypted, for whom.
type creationRule struct {
	path                               *regexp.Regexp
	encrypted, unencrypted             *regexp.Regexp
	encryptedSuffix, unencryptedSuffix string
	recipients                         []string
	fieldsTold                         bool
}

// secrets checks what is secret in every file, whether anything applies it or not.
func (l *linter) secrets() {
	for _, b := range l.fleet.Repositories() {
		l.secretsOf(b)
	}
	for _, c := range l.clusters {
		for _, o := range c.Objects {
			if o.Kind == "Secret" && o.Sync != nil && o.Sync.Object != nil && o.Node != nil && tree.Field(o.Node, "sops") != nil {
				l.decrypted(c, o)
			}
		}
	}
}

// decrypted notes a Kustomization that applies what it can't read.
func (l *linter) decrypted(c *render.Cluster, o *render.Object) {
	if o.Sync.Spec.Decryption == nil && o.Release == nil {
		l.about("decryption-missing", c, o.Sync.Object, []any{"spec"}, fmt.Sprintf("Kustomization %s applies %s, which is encrypted (%s), and says no spec.decryption", nameOf(o.Sync), o.ID, o.At()), "")
	}
}

func (l *linter) secretsOf(b *build.Builder) {
	t := b.Tree()
	rules := l.creationRules(t)
	for _, name := range t.Manifests() {
		documents, err := t.Documents(name)
		if err != nil {
			continue
		}
		kustomization := strings.HasPrefix(path.Base(name), "kustomization.")
		for _, d := range tree.Flattened(documents) {
			switch {
			case kustomization:
				l.generated(t, name, d)
			case tree.Field(d, "sops") != nil:
				l.encrypted(t, name, d, rules)
			case tree.Text(d, "kind") == "Secret" && tree.Text(d, "apiVersion") == "v1":
				l.plaintext(t, name, d)
			}
		}
	}
}

// plaintext notes the keys of a Secret that is readable. Their values are never said.
func (l *linter) plaintext(t *tree.Tree, name string, d *yaml.Node) {
	var keys []string
	var at *yaml.Node
	for _, field := range []string{"data", "stringData"} {
		m := tree.Field(d, field)
		for i := 0; m != nil && m.Kind == yaml.MappingNode && i+1 < len(m.Content); i += 2 {
			if v := m.Content[i+1]; v.Kind == yaml.ScalarNode && strings.TrimSpace(v.Value) != "" && !strings.HasPrefix(v.Value, "ENC[") && !onlyVariable.MatchString(v.Value) {
				keys = append(keys, m.Content[i].Value)
				if at == nil {
					at = m.Content[i]
				}
			}
		}
	}
	if len(keys) > 0 {
		l.find("secret-plaintext", build.Place{File: t.Full(name), Line: at.Line, Column: at.Column}, "Secret "+tree.Text(d, "metadata", "name"), "",
			fmt.Sprintf("Secret %s holds %s as it is", tree.Text(d, "metadata", "name"), strings.Join(keys, ", ")), fmt.Sprintf("encrypt it: `sops --encrypt --in-place %s`; then change what was readable: it is in the history", t.Full(name)))
	}
}

// onlyVariable is a value that Flux puts in from elsewhere.
var onlyVariable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// generated notes literals of a kustomization's secretGenerator.
func (l *linter) generated(t *tree.Tree, name string, d *yaml.Node) {
	for _, g := range tree.Items(d, "secretGenerator") {
		var keys []string
		for _, literal := range tree.Items(g, "literals") {
			key, value, _ := strings.Cut(literal.Value, "=")
			if value != "" {
				keys = append(keys, key)
			}
		}
		for _, field := range []string{"envs", "files"} {
			for _, n := range tree.Items(g, field) {
				file := n.Value
				if _, rest, ok := strings.Cut(file, "="); ok {
					file = rest
				}
				if content, err := t.Read(path.Join(path.Dir(name), file)); err == nil && len(bytes.TrimSpace(content)) > 0 && !bytes.Contains(content, []byte("ENC[")) && !bytes.Contains(content, []byte("sops_")) {
					keys = append(keys, file)
				}
			}
		}
		if len(keys) > 0 {
			l.find("secret-plaintext", build.Place{File: t.Full(name), Line: g.Line, Column: g.Column}, "Secret "+tree.Text(g, "name"), "",
				fmt.Sprintf("secretGenerator %s holds %s as it is", tree.Text(g, "name"), strings.Join(keys, ", ")), "write the Secret as a manifest, and encrypt it with sops")
		}
	}
}

// creationRules reads a tree's .sops.yaml, as far as it says what is encrypted.
func (l *linter) creationRules(t *tree.Tree) []creationRule {
	documents, err := t.Documents(".sops.yaml")
	if err != nil || len(documents) == 0 {
		return nil
	}
	var all []creationRule
	for _, n := range tree.Items(documents[0], "creation_rules") {
		broken := false
		r := creationRule{encryptedSuffix: tree.Text(n, "encrypted_suffix"), unencryptedSuffix: tree.Text(n, "unencrypted_suffix")}
		for _, e := range []struct {
			field string
			into  **regexp.Regexp
		}{{"path_regex", &r.path}, {"encrypted_regex", &r.encrypted}, {"unencrypted_regex", &r.unencrypted}} {
			text := tree.Text(n, e.field)
			if text == "" {
				continue
			}
			re, err := regexp.Compile(text)
			if err != nil {
				at := tree.Field(n, e.field)
				l.find("sops-partial", build.Place{File: t.Full(".sops.yaml"), Line: at.Line, Column: at.Column}, "", "", e.field+" is no regular expression, so sops encrypts nothing: "+err.Error(), "mend the expression")
				broken = true
				continue
			}
			*e.into = re
		}
		if broken {
			continue
		}
		r.fieldsTold = r.encrypted != nil || r.unencrypted != nil || r.encryptedSuffix != "" || r.unencryptedSuffix != ""
		if text := tree.Text(n, "age"); text != "" {
			for _, recipient := range strings.Split(text, ",") {
				r.recipients = append(r.recipients, strings.TrimSpace(recipient))
			}
		}
		for _, item := range tree.Items(n, "age") {
			r.recipients = append(r.recipients, item.Value)
		}
		all = append(all, r)
	}
	return all
}

// encrypted holds an encrypted document to what .sops.yaml says, and to what it says
// itself: sops writes down which fields it encrypted.
func (l *linter) encrypted(t *tree.Tree, name string, d *yaml.Node, rules []creationRule) {
	own := tree.Field(d, "sops")
	r := creationRule{encryptedSuffix: tree.Text(own, "encrypted_suffix"), unencryptedSuffix: tree.Text(own, "unencrypted_suffix")}
	if text := tree.Text(own, "encrypted_regex"); text != "" {
		r.encrypted, _ = regexp.Compile(text) // sops wrote it
	}
	if text := tree.Text(own, "unencrypted_regex"); text != "" {
		r.unencrypted, _ = regexp.Compile(text)
	}
	i := slices.IndexFunc(rules, func(c creationRule) bool { return c.path == nil || c.path.MatchString(name) })
	if i >= 0 && rules[i].fieldsTold {
		r = rules[i]
	}
	l.readable(t, name, d, &r, nil, false)
	if i < 0 || len(rules[i].recipients) == 0 {
		return
	}
	var has []string
	for _, n := range tree.Items(own, "age") {
		has = append(has, tree.Text(n, "recipient"))
	}
	wants := slices.Clone(rules[i].recipients)
	slices.Sort(has)
	slices.Sort(wants)
	if len(has) > 0 && !slices.Equal(has, wants) {
		l.find("sops-recipients", build.Place{File: t.Full(name), Line: own.Line}, "", "", fmt.Sprintf("it is encrypted for %d recipients that are not those of .sops.yaml", len(has)), "run `sops updatekeys "+t.Full(name)+"`")
	}
}

// readable notes values that should be encrypted, by their keys.
func (l *linter) readable(t *tree.Tree, name string, n *yaml.Node, r *creationRule, above []string, wanted bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if len(above) == 0 && key == "sops" {
				continue
			}
			if (r.encrypted == nil && r.encryptedSuffix == "") && len(above) == 0 && (key == "apiVersion" || key == "kind" || key == "metadata") {
				continue // sops would encrypt these too, and Flux could not read the object
			}
			l.readable(t, name, n.Content[i+1], r, append(above[:len(above):len(above)], key), r.wants(key, wanted, len(above) == 0))
		}
	case yaml.SequenceNode:
		for _, sub := range n.Content {
			l.readable(t, name, sub, r, above, wanted)
		}
	case yaml.ScalarNode:
		if wanted && n.Value != "" && n.Tag != yaml.NodeTagNull && !strings.HasPrefix(n.Value, "ENC[") {
			l.find("sops-partial", build.Place{File: t.Full(name), Line: n.Line, Column: n.Column}, "", "", strings.Join(above, ".")+" is not encrypted", "take it out, add it again with `sops "+t.Full(name)+"`, and change what was readable")
		}
	}
}

// wants tells whether the values below a key are to be encrypted.
func (r *creationRule) wants(key string, above, top bool) bool {
	switch {
	case r.encrypted != nil:
		return above || r.encrypted.MatchString(key)
	case r.encryptedSuffix != "":
		return above || strings.HasSuffix(key, r.encryptedSuffix)
	case r.unencrypted != nil:
		return (above || top) && !r.unencrypted.MatchString(key)
	default:
		suffix := r.unencryptedSuffix
		if suffix == "" {
			suffix = "_unencrypted"
		}
		return (above || top) && !strings.HasSuffix(key, suffix)
	}
}
