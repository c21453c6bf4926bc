// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"fmt"
	"strings"

	"github.com/tenantry/tenantry/internal/policy"
)

// Reason is why an attack matters: what it says itself, or what the policy of its wall
// is for.
func (a *Attack) Reason() string {
	if a.Why != "" {
		return a.Why
	}
	if p, _, ok := policy.Find(a.Wall); ok {
		return p.Why
	}
	switch a.Wall {
	case WallEscalation:
		return "Who could give what it has not would have everything."
	case WallPodSecurity:
		return "Such a Pod holds the node, and with it the Pods of other tenants."
	case WallQuota:
		return "One tenant could take what all share."
	default:
		return "The right for it belongs to the platform, or to another tenant."
	}
}

// How it is done, in a line.
func (a *Attack) How() string {
	who := string(a.As)
	if who == "" {
		who = string(AsAccount)
	}
	switch {
	case a.May != nil && a.May.Path != "":
		return fmt.Sprintf("as the %s, read %s", who, a.May.Path)
	case a.May != nil:
		return fmt.Sprintf("as the %s, ask the authorizer for %s on %s", who, a.May.Verb, strings.TrimPrefix(a.May.Group+"/"+a.May.Resource, "/"))
	}
	do := a.Do
	if len(do) == 0 {
		do = []string{PathWrite}
	}
	return fmt.Sprintf("as the %s, by dry run: %s a %s with the change that the title says", who, strings.Join(do, ", "), a.Of)
}

// Mend is what a platform admin does when it got through.
func (a *Attack) Mend() string { return mendOf(a.Wall) }

func mendOf(wall string) string {
	switch wall {
	case WallRBAC, WallEscalation:
		return "remove the binding, or take the right out of its role"
	case WallPodSecurity:
		return "let Tenantry's controller set the label pod-security.kubernetes.io/enforce again, and see who changed it"
	case WallQuota:
		return "let Tenantry's controller write the ResourceQuota again, and see who removed it"
	default:
		return "run tenantry install, which writes policies and bindings as they were"
	}
}
