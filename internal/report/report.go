// SPDX-License-Identifier: Apache-2.0

package report

// State is how a case ended.
type State string

// The states.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Warned  State = "warned"
	Skipped State = "skipped"
)

// Case is one thing that was looked at.
type Case struct {
	// Suite that it belongs to, as a tenant.
	Suite string
	// Group within the suite, as a wall.
	Group string
	// ID of the rule or attack; several cases may share it.
	ID string
	// Title says what was looked at.
	Title string
	State State
	// Message says what was found, or why nothing could be.
	Message string
	// Object that is to blame.
	Object string
	// Mend says what to do.
	Mend string
	// Help says why it matters.
	Help string
	// File that it is in, with slashes, and its place there; 0 is not known.
	File         string
	Line, Column int
}

// Report is a run.
type Report struct {
	// Tool and Version that made it.
	Tool, Version string
	// Title for people.
	Title string
	Cases []Case
}

// suites groups cases by suite, in the order of their first case.
func (r Report) suites() []suite {
	var all []suite
	at := map[string]int{}
	for _, c := range r.Cases {
		i, ok := at[c.Suite]
		if !ok {
			i = len(all)
			at[c.Suite] = i
			all = append(all, suite{Name: c.Suite})
		}
		all[i].Cases = append(all[i].Cases, c)
	}
	return all
}

// suite is the cases of one name.
type suite struct {
	Name  string
	Cases []Case
}

// Count is how many cases ended in a state.
func (s suite) Count(state State) int {
	n := 0
	for _, c := range s.Cases {
		if c.State == state {
			n++
		}
	}
	return n
}
