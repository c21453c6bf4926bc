// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// notes collects what is told. The same told of several places, as of each overlay of
// one base, is one note with all its places.
type notes struct{ places map[Note]map[string]bool }

func (n *notes) add(note Note) {
	place := note.Place
	note.Place = ""
	if n.places == nil {
		n.places = map[Note]map[string]bool{}
	}
	if n.places[note] == nil {
		n.places[note] = map[string]bool{}
	}
	n.places[note][place] = true
}

func (n *notes) sorted() []Note {
	var all []Note
	for note, places := range n.places {
		note.Place = strings.Join(slices.Sorted(maps.Keys(places)), ", ")
		all = append(all, note)
	}
	slices.SortFunc(all, func(a, b Note) int {
		return cmp.Or(
			strings.Compare(a.Tenant, b.Tenant),
			strings.Compare(a.Object, b.Object),
			strings.Compare(a.Field, b.Field),
			strings.Compare(string(a.Verdict), string(b.Verdict)),
			strings.Compare(a.What, b.What),
			strings.Compare(a.Place, b.Place),
		)
	})
	return all
}

// tell notes something about the whole object.
func (o *object) tell(v Verdict, format string, args ...any) { o.tellOf("", v, format, args...) }

func (o *object) tellOf(path string, v Verdict, format string, args ...any) {
	o.tellFor(o.tenant, path, v, format, args...)
}

// tellFor notes something of an object that is several tenants', or nobody's.
func (o *object) tellFor(tenant, path string, v Verdict, format string, args ...any) {
	o.log.add(Note{
		Tenant: tenant, Verdict: v, Place: o.Place, Object: o.title(), Field: path,
		What: fmt.Sprintf(format, args...),
	})
}

// tell notes something about the field, which counts as read by that.
func (f field) tell(v Verdict, format string, args ...any) {
	f.done()
	f.of.tellOf(f.path, v, format, args...)
}
