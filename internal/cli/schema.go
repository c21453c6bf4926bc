// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tenantry/tenantry/internal/expect"
	"github.com/tenantry/tenantry/internal/fleet"
	kinds "github.com/tenantry/tenantry/internal/schema"
)

func newSchema(s Streams) *cobra.Command {
	var write string
	var force bool
	c := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print JSON schemas for editors",
		Long: "Prints the JSON schema of tenantry.yaml (Fleet), of tests/*.yaml (Expectations), of Tenant,\n" +
			"or of a kind of Flux. Without KIND it lists them.\n" +
			"With --write DIR it writes them all, each to a file of its own, and says how an editor finds them.",
		Example:           "  tenantry schema Tenant > tenant.schema.json\n  tenantry schema --write .schemas",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeKinds,
	}
	c.Flags().StringVar(&write, "write", "", "directory to write all schemas to")
	c.Flags().BoolVar(&force, "force", false, "with --write: write over files that are there")
	c.RunE = func(_ *cobra.Command, args []string) error {
		all, err := editorSchemas()
		if err != nil {
			return err
		}
		switch {
		case write != "" && len(args) > 0:
			return usagef("--write writes all schemas: leave %s out", args[0])
		case write != "":
			return writeSchemas(s, all, write, force)
		case len(args) == 0:
			t := newTable(s.Out, "KIND", "OF")
			for _, e := range all {
				t.row(e.kind, e.of)
			}
			return t.flush()
		}
		i := slices.IndexFunc(all, func(e editorSchema) bool { return strings.EqualFold(e.kind, args[0]) })
		if i < 0 {
			return usagef("there is no schema of %s; see tenantry schema", args[0])
		}
		_, err = s.Out.Write(all[i].content)
		return err
	}
	return c
}

// editorSchema is the schema of one kind.
type editorSchema struct {
	kind, of string
	content  []byte
}

// file is its name: those of kinds with a place in a cluster say their group.
func (e editorSchema) file() string {
	group, _, _ := strings.Cut(e.of, "/")
	if strings.HasSuffix(e.of, ".yaml") {
		group = "tenantry"
	}
	return strings.ToLower(e.kind) + "-" + strings.Split(group, ".")[0] + ".json"
}

// editorSchemas are all, by kind.
func editorSchemas() ([]editorSchema, error) {
	all := []editorSchema{{"Fleet", fleet.FileName, fleet.Schema}, {expect.Kind, expect.Dir + "/*.yaml", expect.Schema}}
	set, err := kinds.For(kinds.Newest)
	if err != nil {
		return nil, err
	}
	for _, k := range set.Kinds() {
		if !k.Custom {
			continue // editors know those of Kubernetes
		}
		document, err := set.Document(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind})
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", k.Kind, err)
		}
		content, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return nil, err
		}
		all = append(all, editorSchema{k.Kind, k.GroupVersion().String(), append(content, '\n')})
	}
	slices.SortFunc(all, func(a, b editorSchema) int { return strings.Compare(a.kind, b.kind) })
	return all, nil
}

// writeSchemas writes all, or none where files are in the way.
func writeSchemas(s Streams, all []editorSchema, dir string, force bool) error {
	for _, e := range all {
		if _, err := os.Lstat(filepath.Join(dir, e.file())); err == nil && !force {
			return fmt.Errorf("%s is there already: give --force to write over it", filepath.Join(dir, e.file()))
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, e := range all {
		full := filepath.Join(dir, e.file())
		if err := writeAtomic(full, e.content); err != nil {
			return err
		}
		s.say("wrote %s", full)
	}
	_, err := fmt.Fprintf(s.Err, "Next: have an editor find them by the first line of a file:\n"+
		"      # yaml-language-server: $schema=%s\n", filepath.Join(dir, "tenant-tenantry.json"))
	return err
}

// writeAtomic writes a file whole, or not at all.
func writeAtomic(full string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(full), ".tenantry-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), full)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // nothing is left behind
	}
	return err
}

func completeKinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, err := editorSchemas()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, e := range all {
		names = append(names, e.kind)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
