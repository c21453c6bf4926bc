// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"io"
	"net/url"
)

// The parts of SARIF 2.1.0 that are used.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID    string     `json:"id"`
		Short sarifText  `json:"shortDescription"`
		Full  *sarifText `json:"fullDescription,omitempty"`
		Help  *sarifText `json:"help,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
)

// SARIF writes what failed and what is warned of, for code scanning. What lies on a
// cluster has no file: its place is the suite.
func SARIF(w io.Writer, r Report) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: r.Tool, Version: r.Version, Rules: []sarifRule{}}}, Results: []sarifResult{}}
	seen := map[string]bool{}
	for _, c := range r.Cases {
		level := map[State]string{Failed: "error", Warned: "warning"}[c.State]
		if level == "" {
			continue
		}
		if !seen[c.ID] {
			seen[c.ID] = true
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{ID: c.ID, Short: sarifText{c.Title}, Full: text(c.Help), Help: text(c.Mend)})
		}
		message := c.Message
		if c.Mend != "" {
			message += ". To mend it: " + c.Mend
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: c.ID, Level: level, Message: sarifText{message},
			Locations: []sarifLocation{c.location()},
		})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// location is where a case is: in its file, or where code scanning shows what has none.
func (c Case) location() sarifLocation {
	l := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{URI: "tenants/" + c.Suite}}}
	if c.File != "" {
		l.Physical.Artifact.URI = (&url.URL{Path: c.File}).EscapedPath()
	}
	if c.Line > 0 {
		l.Physical.Region = &sarifRegion{Line: c.Line, Column: c.Column}
	}
	if c.Object != "" {
		l.Logical = []sarifLogical{{Name: c.Object, Kind: "resource"}}
	}
	return l
}

func text(s string) *sarifText {
	if s == "" {
		return nil
	}
	return &sarifText{s}
}
