// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/tenantry/tenantry/internal/build"
	"github.com/tenantry/tenantry/internal/render"
)

// collected are findings, from wherever they come at once.
type collected struct {
	mu  sync.Mutex
	all []Finding
}

func (c *collected) add(f Finding) {
	f.What, f.Mend, f.Object = legible(f.What), legible(f.Mend), legible(f.Object)
	r, _ := Find(f.Rule)
	f.Severity = r.Severity
	if f.Mend == "" && !strings.Contains(f.Rule, "/") { // what a policy says has its mend in it
		f.Mend = r.Mend
	}
	if f.Mend != "" {
		f.Mend = strings.ToUpper(f.Mend[:1]) + f.Mend[1:]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, f)
}

// userinfo is what stands before the host of a URL, and may be a secret.
var userinfo = regexp.MustCompile(`://[^/@\s"]+@`)

// legible is a text from a repository as it may be printed: in one line, without what a
// terminal would obey, and without passwords in URLs.
func legible(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, text)
	return userinfo.ReplaceAllString(text, "://***@")
}

// find notes a finding at a place.
func (l *linter) find(rule string, at build.Place, object, cluster, what, mend string) {
	f := Finding{Rule: rule, File: at.File, Line: at.Line, Column: at.Column, Object: object, What: what, Mend: mend}
	if cluster != "" {
		f.Clusters = []string{cluster}
	}
	l.lint.add(f)
}

// about notes a finding of an object of a cluster.
func (l *linter) about(rule string, c *render.Cluster, o *render.Object, path []any, what, mend string) {
	l.find(rule, o.Place(path...), o.String(), c.Name, what, mend)
}

// problem notes what kept something from being built.
func (l *linter) problem(p build.Problem, cluster string) {
	l.find(p.Rule, p.Place, "", cluster, p.What, p.Mend)
}
