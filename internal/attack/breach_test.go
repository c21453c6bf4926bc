// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantry/tenantry/internal/testkit"
)

// breach is an error as long as no attack gets through a wall.
func breach(t *testing.T, api *testkit.API, wall string) error {
	if left := notBreached(t, api, wall); len(left) > 0 {
		return fmt.Errorf("no attack gets through %s", left[0])
	}
	return nil
}

func cutWall(wall string) (policy, rule string, ok bool) { return strings.Cut(wall, "/") }
