// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/internal/attack"
	"github.com/tenantry/tenantry/internal/audit"
	"github.com/tenantry/tenantry/internal/words"
)

// auditOptions are the flags of audit.
type auditOptions struct {
	only     []string
	list     bool
	explain  string
	output   string
	parallel int
}

func newAudit(s Streams) *cobra.Command {
	var o auditOptions
	c := &cobra.Command{
		Use:   "audit [TENANT...]",
		Short: "Attack the walls around tenants, and read the cluster for what weakens them",
		Long: "Plays the isolation suite on every tenant, or on those named: each attack as the identity that\n" +
			"it names, by impersonation and dry run, so that nothing is left on the cluster. An attack counts\n" +
			"as held only if the wall that it names refused it and a harmless twin of the request passed.\n" +
			"It also reads the cluster: policies, roles, bindings, Flux's lockdown, webhooks of others.\n\n" +
			"Exits 1 when anything got through. It needs to impersonate users, groups and serviceaccounts and\n" +
			"to read the cluster; what it may not do it says, with what could not be tested without it.",
		Example: "  tenantry audit --context production\n  tenantry audit oil --only pods,rbac -o junit > audit.xml\n  tenantry audit --explain sync-no-account",
	}
	flags := addKubeFlags(c)
	f := c.Flags()
	f.StringSliceVar(&o.only, "only", nil, "attacks, families or walls to play, by their names in --list; what reading the cluster finds is then left out")
	f.BoolVar(&o.list, "list", false, "list the attacks and talk to no cluster")
	f.StringVar(&o.explain, "explain", "", "say what an attack or a check is, why it matters, which wall holds it and how to mend it")
	f.StringVarP(&o.output, "output", "o", "", "json, yaml, junit, sarif or html")
	f.IntVar(&o.parallel, "parallel", 8, "how many attacks to play at once")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		suite, err := attack.Load()
		if err != nil {
			return err
		}
		if suite, err = suite.Select(o.only...); err != nil {
			return usageError{err}
		}
		switch {
		case o.explain != "":
			return explainAttack(s, o.explain)
		case o.list:
			return listAttacks(s, suite, o.output)
		}
		if !isOneOf(o.output, "", "json", "yaml", "junit", "sarif", "html") {
			return usagef("output %q is not known; use json, yaml, junit, sarif or html", o.output)
		}
		if o.parallel < 1 {
			return usagef("--parallel is %d: at least one attack is played at once", o.parallel)
		}
		cfg, err := flags.config()
		if err != nil {
			return err
		}
		return runAudit(cmd.Context(), s, o, cfg, suite, args)
	}
	return c
}

func isOneOf(s string, all ...string) bool {
	for _, a := range all {
		if s == a {
			return true
		}
	}
	return false
}

// audited is what an audit found, as programs get it.
type audited struct {
	// Server that was audited.
	Server string `json:"server"`
	// Attacks that got through, and what reading the cluster found, the worst first.
	Findings []audit.Finding `json:"findings"`
	Tenants  []auditedTenant `json:"tenants"`
	// Skipped are checks that could not be made, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`
	// Lacking are rights that whoever ran this did not have.
	Lacking []string        `json:"lacking,omitempty"`
	Results []attack.Result `json:"results"`
}

type auditedTenant struct {
	Name   string                 `json:"name"`
	Counts map[attack.Outcome]int `json:"counts"`
}

func runAudit(ctx context.Context, s Streams, o auditOptions, cfg *rest.Config, suite *attack.Suite, names []string) error {
	live := newCounter(s.Err)
	defer live.end()
	installed, err := installedObjects(cfg)
	if err != nil {
		return err
	}
	found, err := audit.Run(ctx, cfg, audit.Options{
		Suite: suite, Tenants: names, Parallel: o.parallel, Installed: installed, AttacksOnly: len(o.only) > 0,
		Begin:    func(total int) { live.begin(total, "attack") },
		Progress: func(r attack.Result) { live.add("tenant " + r.Tenant) },
	})
	if err != nil {
		return err
	}
	live.end()
	a := audited{Server: cfg.Host, Findings: found.Findings, Skipped: found.Skipped, Lacking: found.Lacking, Results: found.Results}
	a.sum(found.Tenants)
	if err := printAudit(s, o, a, found.Took); err != nil {
		return err
	}
	if len(a.Results) > 0 && !a.tested() {
		return errors.New("no attack could be tested: the reasons are above")
	}
	if n := a.open(); n > 0 {
		return fmt.Errorf("%s open a wall: each says its mend", words.Count(n, "finding"))
	}
	return nil
}

// sum counts, for each tenant, how its attacks ended.
func (a *audited) sum(tenants []string) {
	for _, name := range tenants {
		t := auditedTenant{Name: name, Counts: map[attack.Outcome]int{}}
		for _, r := range a.Results {
			if r.Tenant == name {
				t.Counts[r.Outcome]++
			}
		}
		a.Tenants = append(a.Tenants, t)
	}
}

// tested tells whether any attack showed anything.
func (a *audited) tested() bool {
	for _, t := range a.Tenants {
		if t.Counts[attack.Held]+t.Counts[attack.Through] > 0 {
			return true
		}
	}
	return false
}

// open is how many findings open a wall.
func (a *audited) open() int {
	n := 0
	for _, f := range a.Findings {
		if f.Severity == audit.Error {
			n++
		}
	}
	return n
}

// explainAttack says what an attack or a check is.
func explainAttack(s Streams, id string) error {
	suite, err := attack.Load()
	if err != nil {
		return err
	}
	if a, ok := suite.Find(id); ok {
		lines := [][2]string{{"Attack", a.ID}, {"What", a.Title}, {"Why it matters", a.Reason()}, {"How", a.How()}, {"Wall", a.Wall}, {"Mend", a.Mend()}}
		if a.Source != "" {
			lines = append(lines, [2]string{"Known from", a.Source})
		}
		return printLines(s, lines)
	}
	for _, c := range audit.Checks() {
		if c.ID == id {
			return printLines(s, [][2]string{{"Check", c.ID}, {"What", c.Title}, {"Reads", strings.Join(c.Needs, ", ")}})
		}
	}
	return usagef("there is no attack and no check %s; see tenantry audit --list", id)
}

func printLines(s Streams, lines [][2]string) error {
	t := newTable(s.Out)
	for _, l := range lines {
		t.row(l[0]+":", l[1])
	}
	return t.flush()
}

// listedAttack is an attack for programs.
type listedAttack struct {
	ID     string `json:"id"`
	Family string `json:"family"`
	Title  string `json:"title"`
	Wall   string `json:"wall"`
	Source string `json:"source,omitempty"`
}

func listAttacks(s Streams, suite *attack.Suite, output string) error {
	var all []listedAttack
	for _, a := range suite.Attacks {
		all = append(all, listedAttack{a.ID, a.Family, a.Title, a.Wall, a.Source})
	}
	if output != "" {
		return printAs(s.Out, output, all)
	}
	t := newTable(s.Out, "ID", "FAMILY", "WALL", "WHAT")
	for _, a := range all {
		t.row(a.ID, a.Family, a.Wall, a.Title)
	}
	return t.flush()
}
