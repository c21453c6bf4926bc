// SPDX-License-Identifier: Apache-2.0

// Command bundle packs the sources of the helper modules into one text archive
// that the CLI embeds: Go's embedding can't cross into another module. It is run
// from the repository's root by `make generate`.
package main

import (
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

func main() {
	log.SetFlags(0)
	archive := &txtar.Archive{}
	for _, module := range []string{"controlplane", "flux"} {
		var files []string
		for _, glob := range []string{"*.mod", "*.sum", "*.go"} {
			found, err := filepath.Glob(filepath.Join(module, glob))
			if err != nil {
				log.Fatal(err)
			}
			files = append(files, found...)
		}
		files = slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, "_test.go") })
		slices.Sort(files)
		for _, f := range files {
			content, err := os.ReadFile(f)
			if err != nil {
				log.Fatal(err)
			}
			archive.Files = append(archive.Files, txtar.File{Name: filepath.ToSlash(f), Data: content})
		}
	}
	if err := os.WriteFile("internal/local/helpers.txtar", txtar.Format(archive), 0o644); err != nil {
		log.Fatal(err)
	}
}
