// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"cmp"
	"fmt"
	"strings"
)

// Outcome is how an attack, or one path of it, ended.
type Outcome string

// The outcomes, the worst first.
const (
	// Through: nothing stood in its way.
	Through Outcome = "through"
	// NotTested: something kept the attack from showing anything.
	NotTested Outcome = "not tested"
	// Excepted: the Tenant lets this tenant off, so nothing was tried.
	Excepted Outcome = "excepted"
	// Held: the wall that was named refused, and the harmless twin passed.
	Held Outcome = "held"
)

// PathResult is one request of an attack.
type PathResult struct {
	Path    string  `json:"path"`
	Request string  `json:"request"`
	Outcome Outcome `json:"outcome"`
	Answer  Answer  `json:"answer"`
	// Reason says why it was not tested.
	Reason string `json:"reason,omitempty"`
}

// Result is what became of one attack on one tenant.
type Result struct {
	Attack  *Attack      `json:"-"`
	ID      string       `json:"id"`
	Title   string       `json:"title"`
	Tenant  string       `json:"tenant"`
	As      string       `json:"as"`
	Wall    string       `json:"wall"`
	Outcome Outcome      `json:"outcome"`
	Reason  string       `json:"reason,omitempty"`
	Paths   []PathResult `json:"paths,omitempty"`
	// Grant is, of an attack that got through, what the authorizer says let it.
	Grant string `json:"grant,omitempty"`
	// Namespace that it was in.
	Namespace string `json:"namespace,omitempty"`
}

// result judges an attack by its paths: held where one path showed it and none let it
// through.
func result(a *Attack, sc Scene, paths []PathResult) Result {
	r := Result{Attack: a, ID: a.ID, Title: a.Title, Tenant: sc.Tenant, As: sc.Subjects[cmp.Or(a.As, AsAccount)].User, Wall: a.Wall, Outcome: NotTested, Paths: paths}
	for _, p := range paths {
		switch p.Outcome {
		case Through:
			r.Outcome, r.Reason = Through, "by "+p.Path
			return r
		case Held:
			r.Outcome = Held
		default:
			if r.Reason == "" {
				r.Reason = p.Reason
			}
		}
	}
	if r.Outcome == Held && r.Reason != "" {
		r.Reason = "held, though not on every path: " + r.Reason
	}
	return r
}

// judge compares the answers to an attack and to its twin.
func judge(wall string, attack, twin Answer) (Outcome, string) {
	switch {
	case attack.Passed:
		return Through, ""
	case wall == WallRBAC && attack.Wall == "" && attack.Authorized():
		return Through, "it was authorized, and failed for another reason: " + brief(attack.Message)
	case attack.Wall == "":
		return NotTested, "an error is no defence: " + brief(attack.Message)
	case attack.Wall != wall:
		return NotTested, fmt.Sprintf("%s answered, and not %s: %s", attack.Wall, wall, brief(attack.Message))
	case !twin.Passed:
		return NotTested, "the harmless twin is refused too: " + brief(twin.Message)
	}
	return Held, ""
}

// brief is a message on a line of bearable length.
func brief(message string) string {
	const most = 240
	message = strings.Join(strings.Fields(message), " ")
	if r := []rune(message); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return message
}
