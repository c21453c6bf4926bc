// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/tenantry/tenantry/internal/schema"
)

// validate is what a validator does with one document.
func validate(kinds *schema.Set, document string) error {
	content, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		return err
	}
	object := map[string]any{}
	if err := json.Unmarshal(content, &object); err != nil {
		return err
	}
	problems, err := kinds.Check(object)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%s", problems[0].What)
	}
	return err
}
