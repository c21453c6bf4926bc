// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"io"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr,omitempty"`
	Line    int           `xml:"line,attr,omitempty"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes a report for CI. A warning is a case that passed and says something.
func JUnit(w io.Writer, r Report) error {
	out := junitSuites{Name: r.Title}
	for _, s := range r.suites() {
		js := junitSuite{Name: s.Name, Tests: len(s.Cases), Failures: s.Count(Failed), Skipped: s.Count(Skipped)}
		for _, c := range s.Cases {
			jc := junitCase{Name: c.ID + ": " + c.Title, Class: strings.Trim(s.Name+"."+c.Group, "."), File: c.File, Line: c.Line}
			switch c.State {
			case Failed:
				jc.Failure = &junitMessage{Message: c.Message, Text: c.details()}
			case Skipped:
				jc.Skipped = &junitMessage{Message: c.Message}
			case Warned:
				jc.Out = c.Message + "\n" + c.details()
			}
			js.Cases = append(js.Cases, jc)
		}
		out.Tests += js.Tests
		out.Failures += js.Failures
		out.Skipped += js.Skipped
		out.Suites = append(out.Suites, js)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// details are all that a case says beside its message.
func (c Case) details() string {
	var lines []string
	for _, l := range []struct{ name, text string }{{"object", c.Object}, {"mend", c.Mend}, {"why", c.Help}} {
		if l.text != "" {
			lines = append(lines, l.name+": "+l.text)
		}
	}
	return strings.Join(lines, "\n")
}
