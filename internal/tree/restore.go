// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// restoration gives printed text the form that a person gave it. It goes line by line,
// so that a change of one entry of a list doesn't take the form of the others along.
type restoration struct {
	edits []udiff.Edit
	// printed are the printer's lines, starts where they begin, and written, for each,
	// the line that a person wrote for it, or "".
	printed, written []string
	starts           []int
}

// restoring compares what was printed with what is written. Lines are the same that
// differ in blanks alone.
func restoring(printed, written string) restoration {
	theirs := linesOf(written)
	r := restoration{printed: linesOf(printed)}
	r.written = make([]string, len(r.printed))
	plainStarts := make([]int, 0, len(r.printed)+1) // where lines begin when they are plain
	at, plainAt := 0, 0
	for _, l := range r.printed {
		r.starts, plainStarts = append(r.starts, at), append(plainStarts, plainAt)
		at, plainAt = at+len(l), plainAt+len(plain(l))
	}
	r.starts, plainStarts = append(r.starts, at), append(plainStarts, plainAt)
	i, j := 0, 0
	pairUpTo := func(end int) {
		for ; i < end; i, j = i+1, j+1 {
			if r.written[i] = theirs[j]; r.printed[i] != theirs[j] {
				r.edits = append(r.edits, udiff.Edit{Start: r.starts[i], End: r.starts[i+1], New: theirs[j]})
			}
		}
	}
	for _, e := range udiff.Lines(plainLines(r.printed), plainLines(theirs)) {
		start, _ := slices.BinarySearch(plainStarts, e.Start)
		end, _ := slices.BinarySearch(plainStarts, e.End)
		pairUpTo(start)
		more := strings.Count(e.New, "\n")
		r.edits = append(r.edits, udiff.Edit{Start: r.starts[start], End: r.starts[end], New: strings.Join(theirs[j:j+more], "")})
		i, j = end, j+more
	}
	pairUpTo(len(r.printed))
	return r
}

// fitted sets what a change adds in as far as what is written around it.
func (r restoration) fitted(change []udiff.Edit) []udiff.Edit {
	var all []udiff.Edit
	for _, e := range change {
		at, _ := slices.BinarySearch(r.starts, e.Start)
		e.New = shifted(e.New, r.shiftAt(at, indentation(e.New)))
		all = append(all, e)
	}
	return all
}

// shiftAt is by how much further lines of an indentation are set in, where they are
// written, than printed: first those above, up to the end of their block, then those below.
func (r restoration) shiftAt(line, indent int) int {
	for i := line - 1; i >= 0 && indentation(r.printed[i]) >= indent; i-- {
		if indentation(r.printed[i]) == indent && r.written[i] != "" {
			return indentation(r.written[i]) - indent
		}
	}
	for i := line; i < len(r.printed) && indentation(r.printed[i]) >= indent; i++ {
		if indentation(r.printed[i]) == indent && r.written[i] != "" {
			return indentation(r.written[i]) - indent
		}
	}
	return 0
}

func linesOf(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		return lines[:len(lines)-1]
	}
	return lines
}

func plainLines(lines []string) string {
	out := &strings.Builder{}
	for _, l := range lines {
		out.WriteString(plain(l))
	}
	return out.String()
}

// plain is a line without what printers and people do differently.
func plain(line string) string { return strings.Join(strings.Fields(line), " ") + "\n" }

func indentation(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }

// shifted sets lines in further, or less far.
func shifted(text string, by int) string {
	if by == 0 {
		return text
	}
	out := &strings.Builder{}
	for _, l := range linesOf(text) {
		if by > 0 {
			l = strings.Repeat(" ", by) + l
		} else {
			l = l[min(-by, indentation(l)):]
		}
		out.WriteString(l)
	}
	return out.String()
}
