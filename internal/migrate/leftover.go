// SPDX-License-Identifier: Apache-2.0

package migrate

// leftovers notes what nobody read of an object: each of the highest places below which
// nothing was read.
func (o *object) leftovers() {
	o.bookkeeping()
	for _, f := range o.top().unread() {
		if f.path == "" {
			o.tell(Lost, "%s", lostWhole)
			continue
		}
		o.tellOf(f.path, Lost, "has no equivalent and is left out%s", short(f))
	}
}

const lostWhole = "nothing of it has an equivalent: it is left out"

// unread is the field itself when nothing of it was read, else what is unread below it.
func (f field) unread() []field {
	if f.of.reads[f.path] {
		return nil
	}
	children := f.entries()
	if len(children) == 0 {
		children = f.list()
	}
	var rest []field
	touched := f.of.known[f.path]
	for _, c := range children {
		below := c.unread()
		rest = append(rest, below...)
		touched = touched || len(below) != 1 || below[0].path != c.path
	}
	if !touched {
		return []field{f}
	}
	return rest
}
