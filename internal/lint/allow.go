// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/tenantry/tenantry/internal/tree"
)

// allowance is a comment that lets findings of a rule stand.
type allowance struct {
	tree         *tree.Tree
	name         string
	line, column int
	rule, reason string
	// from and to are the lines that it is for.
	from, to int
	used     bool
}

var allows = regexp.MustCompile(`(?:^|\s)(#\s*tenantry:allow(?:\s+([A-Za-z0-9./_-]+))?\s*(?::\s*(.*))?)$`)

// allow takes out the findings that the files let stand, and notes comments that let
// nothing stand or don't say why.
func (l *linter) allow() {
	var all []*allowance
	for _, t := range l.report.trees {
		for _, name := range t.Manifests() {
			content, err := t.Read(name)
			if err == nil && bytes.Contains(content, []byte("tenantry:allow")) {
				all = append(all, allowances(t, name, content)...)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	byFile := map[string][]*allowance{}
	for _, a := range all {
		byFile[a.tree.Full(a.name)] = append(byFile[a.tree.Full(a.name)], a)
	}
	var left []Finding
	for _, f := range l.report.Findings {
		i := slices.IndexFunc(byFile[f.File], func(a *allowance) bool {
			return a.rule == f.Rule && a.reason != "" && cmp.Compare(f.Line, a.from) >= 0 && f.Line <= a.to
		})
		if i < 0 {
			left = append(left, f)
			continue
		}
		a := byFile[f.File][i]
		a.used = true
		f.Allowed = a.reason
		l.report.Allowed = append(l.report.Allowed, f)
	}
	l.lint.all = left
	for _, a := range all {
		f := Finding{File: a.tree.Full(a.name), Line: a.line, Column: a.column}
		_, known := Find(a.rule)
		switch {
		case a.rule == "" || a.reason == "":
			f.Rule, f.What = "allow-reason", "this comment says no reason"
			if a.rule == "" {
				f.What = "this comment says no rule"
			}
		case !known:
			f.Rule, f.What = "allow-idle", "there is no rule "+a.rule
		case !a.used:
			f.Rule, f.What = "allow-idle", a.rule+" is not found here"
			f.Fixable, f.fix = true, withoutComment(a)
		default:
			continue
		}
		l.lint.add(f)
	}
	l.report.Findings = l.lint.all
}

// allowances are those of a file. A comment is for its own line, or for the next line
// that is no comment; where that begins an object, for the whole object.
func allowances(t *tree.Tree, name string, content []byte) []*allowance {
	documents, err := t.Documents(name)
	if err != nil {
		return nil // what is said of it is that it can't be read
	}
	texts := blocks(documents)
	lines := strings.Split(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
	var all []*allowance
	for i, line := range lines {
		found := allows.FindStringSubmatchIndex(line)
		if found == nil || texts[i+1] {
			continue
		}
		m, at := allows.FindStringSubmatch(line), found[2]
		if strings.Count(line[:at], `"`)%2 == 1 || strings.Count(line[:at], "'")%2 == 1 {
			continue // it stands in a text
		}
		a := &allowance{tree: t, name: name, line: i + 1, column: at + 1, rule: m[2], reason: strings.TrimSpace(m[3]), from: i + 1, to: i + 1}
		all = append(all, a)
		if strings.TrimSpace(line[:at]) != "" {
			continue
		}
		next := i + 1
		for next < len(lines) && (strings.TrimSpace(lines[next]) == "" || strings.HasPrefix(strings.TrimSpace(lines[next]), "#") || strings.HasPrefix(lines[next], "---")) {
			next++
		}
		a.from, a.to = next+1, next+1
		if begins(lines, next) {
			for a.to < len(lines) && !strings.HasPrefix(lines[a.to], "---") {
				a.to++
			}
		}
	}
	return all
}

// blocks are the lines of texts over several lines, as scripts, in which nothing is a comment.
func blocks(documents []*yaml.Node) map[int]bool {
	all := map[int]bool{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, "\n") {
			for i := range strings.Count(n.Value, "\n") + 1 {
				all[n.Line+1+i] = true
			}
		}
		for _, sub := range n.Content {
			walk(sub)
		}
	}
	for _, d := range documents {
		walk(d)
	}
	return all
}

// begins tells whether a line is the first of a document.
func begins(lines []string, at int) bool {
	for i := at - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if strings.HasPrefix(lines[i], "---") {
			return true
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}
