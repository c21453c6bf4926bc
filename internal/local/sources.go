// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tenantry/tenantry/internal/world"
)

// source is one of Flux's, of any kind.
type source struct {
	client.Object
	kind, url string
	// secrets that it names: for its credentials, and for an authority to trust.
	credentials, trust string
	ref                *sourcev1.GitRepositoryRef
	suspended          bool
	handled, revision  string
}

// sources are all that the cluster has.
func (c *Cluster) sources(ctx context.Context) ([]source, error) {
	gits, ocis := &sourcev1.GitRepositoryList{}, &sourcev1.OCIRepositoryList{}
	helms, buckets, charts := &sourcev1.HelmRepositoryList{}, &sourcev1.BucketList{}, &sourcev1.HelmChartList{}
	for _, l := range []client.ObjectList{gits, ocis, helms, buckets, charts} {
		if err := c.client.List(ctx, l); err != nil {
			return nil, err
		}
	}
	name := func(r *fluxmeta.LocalObjectReference) string {
		if r == nil {
			return ""
		}
		return r.Name
	}
	var all []source
	for i := range gits.Items {
		g := &gits.Items[i]
		all = append(all, source{g, sourcev1.GitRepositoryKind, g.Spec.URL, name(g.Spec.SecretRef), "", g.Spec.Reference, g.Spec.Suspend, g.Status.GetLastHandledReconcileRequest(), revisionOf(g.Status.Artifact)})
	}
	for i := range ocis.Items {
		o := &ocis.Items[i]
		all = append(all, source{o, sourcev1.OCIRepositoryKind, o.Spec.URL, name(o.Spec.SecretRef), name(o.Spec.CertSecretRef), nil, o.Spec.Suspend, o.Status.GetLastHandledReconcileRequest(), revisionOf(o.Status.Artifact)})
	}
	for i := range helms.Items {
		h := &helms.Items[i]
		all = append(all, source{h, sourcev1.HelmRepositoryKind, h.Spec.URL, name(h.Spec.SecretRef), name(h.Spec.CertSecretRef), nil, h.Spec.Suspend || h.Spec.Type == sourcev1.HelmRepositoryTypeOCI, h.Status.GetLastHandledReconcileRequest(), revisionOf(h.Status.Artifact)})
	}
	// Of a registry each chart is fetched by itself.
	for i := range charts.Items {
		c := &charts.Items[i]
		h := slices.IndexFunc(helms.Items, func(h sourcev1.HelmRepository) bool {
			return c.Spec.SourceRef.Kind == sourcev1.HelmRepositoryKind && h.Namespace == c.Namespace && h.Name == c.Spec.SourceRef.Name && h.Spec.Type == sourcev1.HelmRepositoryTypeOCI
		})
		if h >= 0 {
			all = append(all, source{c, sourcev1.HelmChartKind, strings.TrimSuffix(helms.Items[h].Spec.URL, "/") + "/" + c.Spec.Chart, "", "", nil, c.Spec.Suspend, c.Status.GetLastHandledReconcileRequest(), revisionOf(c.Status.Artifact)})
		}
	}
	for i := range buckets.Items {
		b := &buckets.Items[i]
		scheme := "https://"
		if b.Spec.Insecure {
			scheme = "http://"
		}
		all = append(all, source{b, sourcev1.BucketKind, scheme + b.Spec.Endpoint + "/" + b.Spec.BucketName, name(b.Spec.SecretRef), name(b.Spec.CertSecretRef), nil, b.Spec.Suspend, b.Status.GetLastHandledReconcileRequest(), revisionOf(b.Status.Artifact)})
	}
	return all, nil
}

func revisionOf(a *fluxmeta.Artifact) string {
	if a == nil {
		return ""
	}
	return a.Revision
}

// tend makes ready what sources name: refs of mapped repositories, credentials that are
// in no repository, and trust in this run's keys. Those for which something was done are
// fetched again at once, as are those of the URLs that changed.
func (c *Cluster) tend(ctx context.Context, changed []string) error {
	all, err := c.sources(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		// One that can't be tended keeps no other from being.
		if err := c.tendSource(ctx, s, changed); err != nil {
			errs = append(errs, fmt.Errorf("%s %s/%s: %w", s.kind, s.GetNamespace(), s.GetName(), err))
		}
	}
	return errors.Join(append(errs, c.tendDecryption(ctx))...)
}

func (c *Cluster) tendSource(ctx context.Context, s source, changed []string) error {
	poke := slices.ContainsFunc(changed, func(url string) bool { return world.Below(s.url, url) })
	poke = c.tendRefs(ctx, s) || poke
	mended, err := c.tendSecrets(ctx, s)
	if poke || mended {
		err = errors.Join(err, c.poke(ctx, s.Object))
	}
	return err
}

func (c *Cluster) tendRefs(ctx context.Context, s source) (added bool) {
	if s.ref == nil {
		return false
	}
	for prefix, name := range map[string]string{"refs/heads/": s.ref.Branch, "refs/tags/": s.ref.Tag, "": s.ref.Name} {
		if name != "" && c.world.Has(ctx, s.url, prefix+name) {
			added = true
		}
	}
	return added
}

// poke has Flux look at something at once.
func (c *Cluster) poke(ctx context.Context, o client.Object) error {
	return annotate(ctx, c.client, o, map[string]string{fluxmeta.ReconcileRequestAnnotation: time.Now().Format(time.RFC3339Nano)})
}

func annotate(ctx context.Context, c client.Client, o client.Object, more map[string]string) error {
	patch := client.MergeFrom(o.DeepCopyObject().(client.Object))
	notes := maps.Clone(o.GetAnnotations())
	if notes == nil {
		notes = map[string]string{}
	}
	maps.Copy(notes, more)
	o.SetAnnotations(notes)
	return client.IgnoreNotFound(c.Patch(ctx, o, patch, client.FieldOwner(manager)))
}

// manager owns what a local cluster writes beside the fleet.
const manager = "tenantry-local"

func (c *Cluster) tendSecrets(ctx context.Context, s source) (changed bool, err error) {
	for _, name := range []string{s.credentials, s.trust} {
		if name == "" {
			continue
		}
		secret := &corev1.Secret{}
		err := c.client.Get(ctx, client.ObjectKey{Namespace: s.GetNamespace(), Name: name}, secret)
		switch {
		case apierrors.IsNotFound(err) && name == s.credentials && c.world.Serves(s.url):
			changed, err = true, c.standIn(ctx, s)
		case apierrors.IsNotFound(err):
			err = nil // Flux tells of it
		case err == nil:
			var trusted bool
			trusted, err = c.trust(ctx, s, secret)
			changed = changed || trusted
		}
		if err != nil {
			return changed, err
		}
	}
	return changed, nil
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// standIn writes credentials that the fleet keeps elsewhere than in Git.
func (c *Cluster) standIn(ctx context.Context, s source) error {
	kind, data, err := credentials(s.kind, s.url, c.world.KnownHosts(hostOf(s.url)))
	if err != nil {
		return err
	}
	c.note(Aside{
		What: "credentials", Object: fmt.Sprintf("Secret %s/%s", s.GetNamespace(), s.credentials),
		Why: fmt.Sprintf("it is in no repository; one that opens only what is served here stands in for it, for %s %s", s.kind, s.GetName()),
	})
	err = c.client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: s.credentials}, Type: corev1.SecretType(kind), StringData: data,
	}, client.FieldOwner(manager))
	return client.IgnoreAlreadyExists(err)
}

// trust adds this run's keys to those that a Secret has a source trust.
func (c *Cluster) trust(ctx context.Context, s source, secret *corev1.Secret) (changed bool, err error) {
	if !c.world.Serves(s.url) {
		return false, nil
	}
	before := secret.DeepCopy()
	for key, line := range map[string]string{
		"known_hosts": c.world.KnownHosts(hostOf(s.url)),
		"ca.crt":      string(c.ca.pem),
		"caFile":      string(c.ca.pem),
	} {
		if has := string(secret.Data[key]); has != "" && !strings.Contains(has, strings.TrimSpace(line)) {
			secret.Data[key] = []byte(strings.TrimRight(has, "\n") + "\n" + line + "\n")
			changed = true
		}
	}
	if !changed {
		return false, nil
	}
	c.note(Aside{
		What: "trust", Object: fmt.Sprintf("Secret %s/%s", secret.Namespace, secret.Name),
		Why: "the keys of this run were added to those that it trusts",
	})
	return true, client.IgnoreNotFound(c.client.Patch(ctx, secret, client.MergeFrom(before), client.FieldOwner(manager)))
}

// tendDecryption writes the keys that Kustomizations decrypt with and the fleet keeps
// elsewhere than in Git.
func (c *Cluster) tendDecryption(ctx context.Context) error {
	all := &kustomizev1.KustomizationList{}
	if err := c.client.List(ctx, all); err != nil {
		return err
	}
	for i := range all.Items {
		k := &all.Items[i]
		key := c.decryptionSecret(k)
		if key.Name == "" {
			continue
		}
		err := c.client.Get(ctx, key, &corev1.Secret{})
		if !apierrors.IsNotFound(err) {
			if err != nil {
				return err
			}
			continue
		}
		data, err := c.opts.Keys.data()
		if err != nil {
			return err
		}
		if err := client.IgnoreAlreadyExists(c.client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, StringData: data,
		}, client.FieldOwner(manager))); err != nil {
			return err
		}
		if err := c.poke(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// decryptionSecret is what a Kustomization decrypts with: its own Secret, or the one that
// kustomize-controller is given for those that have none.
func (c *Cluster) decryptionSecret(k *kustomizev1.Kustomization) client.ObjectKey {
	if k.Spec.Decryption == nil {
		return client.ObjectKey{}
	}
	if ref := k.Spec.Decryption.SecretRef; ref != nil {
		return client.ObjectKey{Namespace: k.Namespace, Name: ref.Name}
	}
	for _, a := range c.opts.FluxArgs["kustomize-controller"] {
		if name, ok := strings.CutPrefix(a, "--sops-age-secret="); ok {
			return client.ObjectKey{Namespace: FluxNamespace, Name: name}
		}
	}
	return client.ObjectKey{}
}
