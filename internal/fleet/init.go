// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tenantry/tenantry/internal/tree"
)

// PlaceholderURL stands in for the URL of a fleet that has no repository yet.
const PlaceholderURL = "https://git.example.com/platform/fleet"

// InitOptions say what a new fleet has.
type InitOptions struct {
	// Clusters by name, with the group of each.
	Clusters []Member
	// Groups beside those of the clusters.
	Groups []string
	// URL and Branch of the repository that clusters will sync from.
	URL, Branch string
	// Age is the public key that secrets are encrypted for; "" leaves it open.
	Age string
	// Walls and Grants are what `tenantry install --export` prints.
	Walls, Grants []byte
}

// Member is a cluster and its group.
type Member struct{ Name, Group string }

var ageRecipient = regexp.MustCompile(`^age1[02-9ac-hj-np-z]{58}$`)

// Init is a new fleet, not written yet. A directory that holds a fleet is refused
// unless force is given; files that are none of the fleet's are left alone.
func Init(dir string, o InitOptions, force bool) (*Fleet, error) {
	if Find(dir) != "" && !force {
		return nil, fmt.Errorf("%s is in a fleet already (%s): change it with `tenantry cluster|group|tenant`, or give --force to write its files anew", dir, Find(dir))
	}
	if o.Age != "" && !ageRecipient.MatchString(o.Age) {
		return nil, fmt.Errorf("age recipient %q: want a public key as age-keygen prints it, age1... (never the AGE-SECRET-KEY)", redactKey(o.Age))
	}
	if err := checkRepository(o.URL, o.Branch); err != nil {
		return nil, err
	}
	f := &Fleet{Dir: dir, tree: tree.New(dir)}
	data := struct {
		InitOptions
		Clusters       []string
		Cluster, HTTPS string
		Placeholder    bool
	}{InitOptions: o, Placeholder: o.URL == PlaceholderURL}
	groups := slices.Clone(o.Groups)
	for _, c := range o.Clusters {
		data.Clusters = append(data.Clusters, c.Name)
		groups = append(groups, c.Group)
	}
	if len(data.Clusters) == 0 {
		return nil, errors.New("a fleet has at least one cluster: name one with --clusters")
	}
	data.Cluster, data.HTTPS = data.Clusters[0], overHTTPS(o.URL)
	if err := scaffolded(f.tree, "fleet", "", data); err != nil {
		return nil, err
	}
	f.tree.Put(path.Join(infrastructureDir, "tenantry/walls/walls.yaml"), o.Walls)
	f.tree.Put(path.Join(infrastructureDir, "tenantry/grants/grants.yaml"), o.Grants)
	f.tree.Put(path.Join(baseDir, ".gitkeep"), nil)
	slices.Sort(groups)
	for _, g := range slices.Compact(groups) {
		if err := f.writeGroup(g, AllParts); err != nil {
			return nil, err
		}
	}
	for _, c := range o.Clusters {
		if slices.Contains(groups, c.Name) && c.Group != c.Name {
			return nil, fmt.Errorf("cluster %s: a group has this name, and its overlay tenants/%s; choose another, or put it into that group", c.Name, c.Name)
		}
		if err := f.writeCluster(c.Name, c.Group, o.URL, o.Branch); err != nil {
			return nil, err
		}
	}
	return f, f.guard(force)
}

// InitTenant is a new repository of a tenant, not written yet: a base, and a directory
// for each environment.
func InitTenant(dir, name string, environments []string, force bool) (*Fleet, error) {
	if !tenantForm.MatchString(name) {
		return nil, fmt.Errorf("tenant %q: a tenant's name is 1 to 40 lower-case letters, digits and '-', beginning with a letter", name)
	}
	f := &Fleet{Dir: dir, tree: tree.New(dir)}
	data := struct {
		Name, Environment string
		Environments      []string
	}{Name: name, Environments: environments}
	if err := errors.Join(
		scaffoldedFile(f.tree, "tenant/README.md", "README.md", data),
		scaffolded(f.tree, "tenant/base", "base", data),
	); err != nil {
		return nil, err
	}
	for _, e := range environments {
		if err := checkName("environment", e); err != nil {
			return nil, err
		}
		if data.Environment = e; e == "base" {
			return nil, errors.New("environment base: this is the name of what all environments share; choose another")
		}
		if err := scaffolded(f.tree, "tenant/overlay", e, data); err != nil {
			return nil, err
		}
	}
	return f, f.guard(force)
}

// keepable are files that surround a fleet or a tenant's repository: those that are
// there already are left alone.
var keepable = []string{"README.md", ".gitignore", ".sops.yaml", hidden["workflow.yaml"]}

// guard refuses to write over files that are there.
func (f *Fleet) guard(force bool) error {
	if info, err := os.Stat(f.Dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory", f.Dir)
	}
	if force {
		return nil
	}
	var taken []string
	for _, name := range f.tree.ChangedNames() {
		switch _, err := os.Lstat(f.tree.Full(name)); {
		case err != nil: // it is not there
		case slices.Contains(keepable, name):
			f.tree.Forget(name)
			f.Kept = append(f.Kept, name)
		default:
			taken = append(taken, f.tree.Full(name))
		}
	}
	slices.Sort(f.Kept)
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	if more := len(taken) - 3; more > 0 {
		taken = append(taken[:3], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%s would be written over: give --force for that, or another directory", strings.Join(taken, ", "))
}

// checkRepository takes the URLs that Flux takes, and none with a password in it.
func checkRepository(raw, branch string) error {
	u, err := url.Parse(raw)
	if err != nil || !slices.Contains([]string{"https", "http", "ssh"}, u.Scheme) || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return errors.New("the repository's URL is no https://, http:// or ssh:// URL of a Git repository")
	}
	if _, secret := u.User.Password(); secret || u.User != nil && u.Scheme != "ssh" {
		return errors.New("the repository's URL holds credentials: leave them out; Flux reads them from a Secret")
	}
	if u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(raw, " \t\n") {
		return errors.New("the repository's URL has more than a path: leave out what follows ? and #, and blanks")
	}
	if !branchForm.MatchString(branch) || badBranch.MatchString(branch) {
		return fmt.Errorf("branch %q is no name of a branch", branch)
	}
	return nil
}

// What git check-ref-format takes, and shells and YAML too.
var (
	branchForm = regexp.MustCompile(`^[A-Za-z0-9_][-A-Za-z0-9_./+=]{0,200}$`)
	badBranch  = regexp.MustCompile(`\.\.|//|/\.|\.lock(/|$)|[/.]$`)
)

// overHTTPS is where `tenantry up` serves a repository: it answers for HTTPS alone.
func overHTTPS(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme == "https" {
		return raw
	}
	return "https://" + u.Hostname() + u.Path
}

// redactKey keeps a private key that was given by mistake out of messages.
func redactKey(key string) string {
	if len(key) > 8 {
		return key[:8] + "..."
	}
	return key
}

var tenantForm = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$`)

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// checkName takes names that are good for directories and for Kubernetes objects alike.
func checkName(what, name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%s %q: a name is lower-case letters, digits and '-', 63 at most", what, name)
	}
	return nil
}

// scpForm is how Git writes a place on a host in short, as git@host:path.
var scpForm = regexp.MustCompile(`^([a-z_][-a-z0-9_]*)@([^:/]+):([^/].*)$`)

// CleanURL is a remote's URL as Flux wants it: a URL, without a password or the name of
// a person. What can't be one is PlaceholderURL.
func CleanURL(remote string) string {
	if m := scpForm.FindStringSubmatch(remote); m != nil {
		remote = "ssh://" + m[1] + "@" + m[2] + "/" + m[3]
	}
	u, err := url.Parse(remote)
	if err != nil {
		return PlaceholderURL
	}
	if u.Scheme != "ssh" {
		u.User = nil
	} else if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	if checkRepository(u.String(), "main") != nil {
		return PlaceholderURL
	}
	return u.String()
}
