// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"path"
	"strings"
)

// fluxSystem is the name that Flux's bootstrap gives its namespace, its directory, its
// source and its Kustomization.
const fluxSystem = "flux-system"

// platformSyncOf reads a Flux Kustomization. It is ours when it applies a directory of
// this very repository.
func platformSyncOf(content []byte) (s platformSync, ours bool, err error) {
	var k struct {
		Metadata struct{ Name string }
		Spec     struct {
			Path      string
			SourceRef struct{ Kind, Name string }
		}
	}
	if err := json.Unmarshal(content, &k); err != nil {
		return s, false, err
	}
	dir := path.Clean(strings.TrimPrefix(k.Spec.Path, "./"))
	ours = k.Spec.SourceRef.Kind == "GitRepository" && k.Spec.SourceRef.Name == fluxSystem && !strings.HasPrefix(dir, "..")
	return platformSync{name: k.Metadata.Name, path: dir}, ours, nil
}
