// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"github.com/tenantry/tenantry/internal/policy"
)

// Rule is something that is looked for.
type Rule struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Title says what a finding means.
	Title string `json:"title"`
	// Why it matters, and how it is mended.
	Why  string `json:"why"`
	Mend string `json:"mend"`
}

// Rules are all, by what they are about. The rules of Tenantry's admission policies are
// rules too, by the names under which a cluster would refuse; see Find.
func Rules() []Rule { return rules }

// Find is a rule by its ID: one of Rules, or a rule of an admission policy.
func Find(id string) (Rule, bool) {
	for _, r := range rules {
		if r.ID == id {
			return r, true
		}
	}
	p, r, ok := policy.Find(id)
	if !ok {
		return Rule{}, false
	}
	mend := "do as the finding says"
	if r.Allow != "" {
		mend += ", or have a platform admin allow it in " + r.Allow + " of the Tenant"
	}
	return Rule{
		ID: id, Severity: Error, Title: "Admission policy " + p.ObjectName() + " would refuse it",
		Why: strings.TrimSuffix(p.Why, ".") + ". The expression: " + r.CEL, Mend: mend,
	}, true
}

var rules = []Rule{
	// Files
	{"yaml-syntax", Error, "A file is no YAML", "Nothing that is in it, or built on it, can be applied.", "Mend the line that is named."},
	{"file-unreadable", Error, "A file can't be read", "It is larger than any manifest is, or no regular file; it is not read, so that nothing hangs on it.", "Keep it out of the repository, or split it."},
	{"link-outside", Error, "A link leads out of the repository", "Flux does not follow it, and here nothing outside the repository is read either.", "Put the file itself into the repository."},
	{"config", Error, "tenantry.yaml can't be used", "It says which directories stand in for the URLs that sources name; without it these are not read.", "Mend the line that is named."},
	{"not-an-object", Error, "A manifest is no Kubernetes object", "Flux fails to build the whole directory for it.", "Complete it with apiVersion, kind and metadata.name, or take it out of the resources."},
	{"not-listed", Warning, "No kustomization lists a manifest", "It stands beside a kustomization that doesn't name it, so nothing applies it.", "Add it to the resources or patches, or delete it."},

	// Kustomize
	{"kustomize", Error, "Kustomize can't build a directory", "Flux applies nothing of a directory that it can't build.", "Do as the message says; `kustomize build` shows the same."},
	{"kustomize-loop", Error, "A kustomization includes itself", "It can't be built.", "Take one of the directories that are named out of the other's resources."},
	{"kustomize-old", Warning, "A kustomization uses a field that kustomize gives up", "bases, patchesStrategicMerge, patchesJson6902, commonLabels and vars are deprecated, and a later kustomize refuses them.", "Use resources, patches, labels and replacements; --fix does the first two."},
	{"remote-base", Error, "A kustomization fetches from elsewhere", "Flux's lockdown (--no-remote-bases) refuses it, and what is fetched was reviewed by nobody here: in a tenant's repository it lets Flux be sent anywhere (CVE-2022-24878 is of this kind).", "Copy it into the repository, or sync it as a source of its own."},
	{"path-missing", Error, "Something that is named is not there", "Flux can't build the directory.", "Name a file or directory that is there."},
	{"path-outside", Error, "A path leads out of the repository", "Flux reads nothing outside of the source.", "Name a path inside of it."},
	{"patch-target", Error, "A patch names an object that is not there", "Kustomize refuses to build the directory.", "Name an object that the resources bring: its apiVersion, kind, name and namespace have to be the same."},
	{"patch-unfit", Error, "A patch doesn't fit its object", "Kustomize refuses to build the directory.", "Patch a path that is there."},
	{"patch-idle", Warning, "A patch does nothing", "Its target matches nothing, and kustomize says nothing about that: what it was meant to change stays as it is.", "Name a target that is there, or take the patch out."},
	{"object-twice", Error, "An object is declared twice", "Kustomize refuses to build a directory with two objects of the same kind, name and namespace.", "Leave one of them out."},
	{"applied-twice", Error, "Two Kustomizations of a cluster apply the same object", "Each undoes what the other does, for ever.", "Leave it to one of them."},
	{"variables", Error, "Variables can't be substituted", "Flux fails to build the directory.", "Write $${NAME} where no variable is meant, or quote the value."},
	{"variable-unset", Error, "A variable has no value", "Flux puts nothing in its place, and applies what is left.", "Give it a value in spec.postBuild.substitute or what substituteFrom names, a default as ${NAME:-x}, or write $${NAME}."},
	{"chart", Error, "A chart can't be rendered", "helm-controller fails in the same way.", "Mend the chart or its values."},

	// Objects
	{"unknown-kind", Error, "There is no such kind", "The API server refuses it.", "Mend the kind, or add its CRD to the fleet."},
	{"removed-api", Error, "An API version is no longer served", "The cluster refuses the object, and with it all that Flux applies together with it.", "Use the version that is named; --fix does it where nothing else has to change."},
	{"newer-api", Error, "An API version is not served yet", "The cluster refuses the object, and with it all that Flux applies together with it.", "Leave it out for clusters of this minor, or upgrade them first."},
	{"unknown-field", Error, "A field that does not exist", "Strict decoding refuses it, and without it the API server drops it: what it was to say is not said.", "Mend its name, or take it out."},
	{"missing-field", Error, "A required field is missing", "The API server refuses the object.", "Add it."},
	{"invalid-value", Error, "A value is not allowed", "The API server refuses the object.", "Use one that the message names."},
	{"crd-rule", Error, "A rule of the kind is broken", "The API server evaluates the rules that a CRD has (x-kubernetes-validations), and refuses the object.", "Do as the message says."},
	{"metadata", Error, "A name, label or annotation is not allowed", "The API server refuses the object.", "Use one that the message describes."},
	{"crd-invalid", Error, "A CRD has no usable schema", "The API server refuses it, and nothing of its kind can be checked.", "Mend the schema."},
	{"no-namespace", Error, "An object has no namespace", "Flux puts nothing into a namespace by itself: it fails to apply the object, and all with it.", "Say metadata.namespace, a namespace in the kustomization, or targetNamespace in the Flux Kustomization."},

	// Flux
	{"cluster-path", Error, "A cluster syncs another's directory", "It gets what is meant for another cluster, and nothing of its own.", "Say its own directory in spec.path of gotk-sync.yaml."},
	{"dangling-source", Error, "A source is not there", "Flux waits for it and applies nothing.", "Name a source of the cluster, or add it."},
	{"dangling-provider", Error, "An Alert's Provider is not there", "Nobody is told of anything.", "Name a Provider of the same namespace, or add it."},
	{"dangling-account", Error, "A service account is not there", "Flux can't act as it, and applies nothing.", "Name an account that the fleet makes in that namespace, or add it."},
	{"dangling-dependency", Error, "dependsOn names what is not there", "Flux waits for it for ever.", "Name a Kustomization (or HelmRelease) of the cluster."},
	{"dependency-cycle", Error, "Dependencies go in a circle", "Each waits for the other, and none is ever applied.", "Take one dependsOn out."},
	{"dangling-secret", Warning, "A Secret that is named is not in the fleet", "Flux fails until it is there. One that is made by hand on each cluster can't be seen here.", "Add it, encrypted, or say why it is not in Git: # tenantry:allow dangling-secret: REASON."},
	{"dangling-variables", Warning, "Variables come from an object that is not in the fleet", "Flux fails until it is there.", "Add it to what the cluster applies before, or mark it optional."},
	{"dangling-values", Warning, "Values of a HelmRelease come from an object that is not in the fleet", "helm-controller fails until it is there.", "Add it, or mark it optional."},
	{"foreign-reference", Error, "A reference leads to another namespace", "Flux's lockdown (--no-cross-namespace-refs) refuses it.", "Refer to the own namespace: give each tenant a source of its own."},
	{"account-missing", Error, "A Kustomization or HelmRelease names no service account", "Under Flux's lockdown it acts as an account that may do nothing, and fails.", "Say spec.serviceAccountName."},
	{"lockdown-missing", Error, "Flux is not locked down", "Without --no-cross-namespace-refs, --no-remote-bases and --default-service-account a tenant's objects act as Flux itself, which is cluster-admin, or reach into other namespaces.", "Add the flags to Flux's controllers, as the component that `tenantry init` writes does."},

	// Tenants
	{"tenant-twice", Error, "A tenant is declared twice for a cluster", "Two declarations of one name undo each other.", "Leave one of them out."},
	{"tenants-overlap", Error, "The name of one tenant begins with another's", "A namespace NAME-x could be either's.", "Choose a name that doesn't begin with another tenant's and a dash."},
	{"namespace-twice", Error, "Two tenants claim a namespace", "It can only be one's; which, would depend on who is first.", "Take it out of one of them."},
	{"domain-twice", Error, "Domains of two tenants overlap", "Whoever is first has it, and the other's Ingresses are refused.", "Give each a domain of its own."},
	{"exception-ended", Warning, "An exception has ended", "The rule denies again since then, and the entry says nothing any more.", "Take it out, or extend it."},
	{"walls-missing", Error, "A cluster gets tenants and no walls", "Without the admission policies and the CRD nothing keeps tenants apart.", "Apply what `tenantry install --export --part walls` prints."},
	{"walls-old", Warning, "The walls are another version's", "The policies in the fleet are not the ones that this version of tenantry checks with.", "Write them again with `tenantry install --export --part walls`."},
	{"walls-order", Error, "Tenants may come before the walls", "A policy bites about a second after it is written: until then whoever has rights uses them freely.", "Have the Kustomization of tenants depend on that of the grants, and that on the walls with wait: true."},
	{"namespace-limit", Error, "A tenant makes more namespaces than it may", "Those past the limit get no access, and are removed when they are empty.", "Make fewer, or raise spec.namespaces.selfService.limit."},
	{"outside-tenant", Error, "A tenant's repository has an object outside of its namespaces", "RBAC refuses it: the tenant's account has rights in its own namespaces alone.", "Put it into a namespace of the tenant."},
	{"rbac", Error, "A tenant's account may not do this", "RBAC refuses it.", "Leave it to the platform, or ask a platform admin for a role that allows it."},
	{"pod-security", Error, "Pods of a workload are refused", "They break the Pod Security level that the namespace enforces: the workload is taken, and never runs.", "Do as the message says, or have a platform admin choose another level for the tenant."},

	// Secrets
	{"secret-plaintext", Error, "A Secret is in Git as it is", "Whoever reads the repository, now or later, has it.", "Encrypt it: `sops --encrypt --in-place FILE`. Then change what was readable: it is in the history."},
	{"sops-partial", Error, "A field is not encrypted that .sops.yaml wants encrypted", "It was probably added by hand after the file was encrypted, and is readable by all.", "Take it out, add it again with `sops FILE`, and change what was readable: it is in the history."},
	{"sops-recipients", Warning, "A file is encrypted for others than .sops.yaml says", "Somebody can't read it who should, or still can who should not.", "Run `sops updatekeys FILE`."},
	{"decryption-missing", Error, "An encrypted file is applied without decryption", "Flux applies the encrypted text as it is, or fails.", "Say spec.decryption in the Kustomization."},

	// Suppressions
	{"allow-reason", Error, "A finding is allowed without a reason", "In a year nobody knows whether it still may be.", "Write # tenantry:allow RULE: REASON."},
	{"allow-idle", Warning, "A comment allows what is not found", "It would hide a later finding that nobody thought of.", "Take it out; --fix does it."},
}
