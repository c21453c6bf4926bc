// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// fluxControllers are the programs of Flux with the flags that keep tenants apart and the
// oldest version that does: those of Flux 2.9.5, which no longer reads files that a
// kubeconfig of a tenant names. The flags are those of the Flux documentation on
// multi-tenancy lockdown.
var fluxControllers = map[string]struct {
	flags map[string]string // by name, "" for any value
	floor string
}{
	"source-controller":           {nil, "1.9.5"},
	"kustomize-controller":        {map[string]string{"no-cross-namespace-refs": "true", "no-remote-bases": "true", "default-service-account": ""}, "1.9.5"},
	"helm-controller":             {map[string]string{"no-cross-namespace-refs": "true", "default-service-account": ""}, "1.6.4"},
	"notification-controller":     {map[string]string{"no-cross-namespace-refs": "true"}, "1.9.4"},
	"image-reflector-controller":  {map[string]string{"no-cross-namespace-refs": "true"}, "1.2.5"},
	"image-automation-controller": {map[string]string{"no-cross-namespace-refs": "true"}, "1.2.5"},
	"source-watcher":              {map[string]string{"no-cross-namespace-refs": "true"}, "2.2.4"},
}

// refused are flags that open what tenancy closes.
var refused = map[string]string{
	"insecure-kubeconfig-exec": "lets a kubeconfig of a tenant run commands in the controller (CVE-2022-24817)",
	"insecure-kubeconfig-tls":  "lets anybody on the way answer for a cluster",
	"sops-age-secret":          "decrypts with one key for all tenants",
}

// lockdown looks at the flags of every Flux controller that runs as a Deployment.
func lockdown(f *Facts) []Finding {
	var all []Finding
	for i := range f.Deployments {
		d := &f.Deployments[i]
		name, flags, _ := fluxController(d)
		if name == "" {
			continue
		}
		object := "Deployment " + d.Namespace + "/" + d.Name
		wanted := fluxControllers[name].flags
		for _, flag := range sortedKeys(wanted) {
			value, set := flags[flag]
			if set && value != "" && (wanted[flag] == "" || value == wanted[flag]) {
				continue
			}
			want := "--" + flag
			if wanted[flag] == "" {
				want += "=default"
			}
			all = append(all, Finding{Severity: Error, Wall: "flux", Object: object, Message: "runs without " + want, Mend: "add the argument " + want + " to the container (a patch in the kustomization.yaml of flux-system)"})
		}
		for _, flag := range sortedKeys(refused) {
			if value, set := flags[flag]; set && value != "false" {
				all = append(all, Finding{Severity: Error, Wall: "flux", Object: object, Message: "runs with --" + flag + ", which " + refused[flag], Mend: "take the argument out"})
			}
		}
	}
	return all
}

// noFlux says that there is no Flux to look at.
func noFlux(f *Facts) string {
	for i := range f.Deployments {
		if name, _, _ := fluxController(&f.Deployments[i]); name != "" {
			return ""
		}
	}
	return "no Flux controller runs as a Deployment here: see to its flags and version where it runs"
}

// versions compares those of Flux's controllers with the floor.
func versions(f *Facts) []Finding {
	var all []Finding
	for i := range f.Deployments {
		d := &f.Deployments[i]
		name, _, tag := fluxController(d)
		if name == "" {
			continue
		}
		object := "Deployment " + d.Namespace + "/" + d.Name
		v, err := version.ParseGeneric(strings.TrimPrefix(tag, "v"))
		floor := version.MustParseGeneric(fluxControllers[name].floor)
		switch {
		case err != nil:
			all = append(all, Finding{Severity: Info, Wall: "flux", Object: object, Message: fmt.Sprintf("its image has no version that can be read (%q)", tag), Mend: "see that it is at least " + floor.String()})
		case v.LessThan(floor):
			all = append(all, Finding{Severity: Warning, Wall: "flux", Object: object, Message: fmt.Sprintf("is version %s, older than %s of Flux 2.9.5", tag, floor), Mend: "update Flux to 2.9.5 or newer: older ones read files that a kubeconfig names"})
		}
	}
	return all
}

// fluxController is the program, the flags and the tag of a Deployment of Flux, or "".
func fluxController(d *appsv1.Deployment) (name string, flags map[string]string, tag string) {
	for _, c := range d.Spec.Template.Spec.Containers {
		image, _, _ := strings.Cut(c.Image, "@")
		base := image[strings.LastIndex(image, "/")+1:]
		program, version, _ := strings.Cut(base, ":")
		if _, known := fluxControllers[program]; !known {
			continue
		}
		flags = map[string]string{}
		for _, arg := range append(slices.Clone(c.Command), c.Args...) {
			flag, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if !has {
				value = "true"
			}
			if strings.HasPrefix(arg, "-") {
				flags[flag] = value
			}
		}
		return program, flags, version
	}
	return "", nil, ""
}

// rootAccounts finds syncs of the platform that name no account: under lockdown they act
// as the default one and break, without it they need none.
func rootAccounts(f *Facts) []Finding {
	var all []Finding
	for i := range f.Kustomizations {
		k := &f.Kustomizations[i]
		if f.tenantOf(k.Namespace) != "" || k.Spec.ServiceAccountName != "" || k.Annotations[v1alpha1.ExpectAnnotation] != "" {
			continue
		}
		all = append(all, Finding{
			Severity: Warning, Wall: "flux", Object: "Kustomization " + k.Namespace + "/" + k.Name,
			Message: "names no serviceAccountName: it works only as long as Flux applies with all rights where none is named",
			Mend:    "set spec.serviceAccountName: kustomize-controller, and --default-service-account on Flux",
		})
	}
	return all
}
