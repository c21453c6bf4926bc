// SPDX-License-Identifier: Apache-2.0

package fleet

import _ "embed"

// Schema is the JSON schema of FileName, for editors.
//
//go:embed schema.json
var Schema []byte
