// SPDX-License-Identifier: Apache-2.0

package rehearse

import "testing"

func TestEntriesOfAnInventory(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]Entry{
		"oil_web_apps_Deployment":                                {"apps", "Deployment", "oil", "web"},
		"_oil-web__Namespace":                                    {"", "Namespace", "", "oil-web"},
		"oil_settings__ConfigMap":                                {"", "ConfigMap", "oil", "settings"},
		"_tenantry__admin_rbac.authorization.k8s.io_ClusterRole": {"rbac.authorization.k8s.io", "ClusterRole", "", "tenantry:admin"},
	} {
		if got, ok := entryOf(id); !ok || got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
	for _, id := range []string{"", "a", "a_b", "a_b_c"} {
		if got, ok := entryOf(id); ok {
			t.Errorf("%q: %+v", id, got)
		}
	}
}
