// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tenantry/tenantry/internal/kube"
	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/words"
)

func adminOf(s local.State) (*rest.Config, error) {
	return clientcmd.BuildConfigFromFlags("", s.Kubeconfigs["admin"])
}

// converge shows the cluster until all of it is Ready, or stays as it is and is not,
// and prints the summary. The cluster's end is an error.
func converge(ctx context.Context, s Streams, o upOptions, cfg *rest.Config, dead <-chan error, state func() local.State) (good bool, err error) {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return false, err
	}
	view := newView(s)
	end, err := local.Converge(ctx, c, local.Watching{
		Cluster: state().Cluster, Timeout: o.timeout, Show: view.show, Note: view.note, Dead: dead,
	})
	if err != nil {
		return false, err
	}
	view.done()
	if end.Late {
		return false, summarize(s, o, state(), end)
	}
	// Kubeconfigs are written a moment after tenants appear.
	now := awaitKubeconfigs(ctx, state, end.Picture)
	return end.Picture.Good(), summarize(s, o, now, end)
}

// follow tells of changes, a line each, until the cluster's or our own end.
func follow(ctx context.Context, s Streams, cfg *rest.Config, cluster string, dead <-chan error) error {
	c, err := kube.NewClient(kube.Unthrottled(cfg))
	if err != nil {
		return err
	}
	v := newView(s)
	v.live, v.quiet = false, true
	for {
		if picture, err := local.Look(ctx, c, cluster); err == nil {
			v.show(picture)
			v.quiet = false
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-dead:
			return err
		case <-time.After(time.Second):
		}
	}
}

func awaitKubeconfigs(ctx context.Context, state func() local.State, p local.Picture) local.State {
	for range 20 {
		now, missing := state(), false
		for _, r := range p {
			missing = missing || r.Kind == "Tenant" && now.Kubeconfigs["tenant-"+r.Name] == ""
		}
		if !missing {
			return now
		}
		select {
		case <-ctx.Done():
			return now
		case <-time.After(100 * time.Millisecond):
		}
	}
	return state()
}

// summary is what up prints at its end, for programs.
type summary struct {
	Ready       bool              `json:"ready"`
	Seconds     float64           `json:"seconds"`
	Rows        local.Picture     `json:"rows"`
	Kubeconfigs map[string]string `json:"kubeconfigs,omitempty"`
	Unmapped    []string          `json:"unmapped,omitempty"`
}

func summarize(s Streams, o upOptions, state local.State, end *local.Convergence) error {
	p, took := end.Picture, end.Took
	if o.output != "" {
		kept := state.Kubeconfigs
		if o.once {
			kept = nil // they go with the cluster, in a moment
		}
		return printAs(s.Out, o.output, summary{
			Ready: p.Good(), Seconds: took.Seconds(), Rows: p, Kubeconfigs: kept, Unmapped: state.Unmapped,
		})
	}
	w := newTable(s.Out, "\nTENANT", "KIND", "NAME", "HEALTH", "REVISION", "MESSAGE")
	var tenants, refused int
	for _, r := range p {
		switch {
		case r.Kind == "Tenant":
			tenants++
		case r.Health == local.Refused:
			refused++
		}
		if r.Health == local.Ready && r.Revision != "" && r.Kind != "Cluster" {
			r.Message = "" // says no more than the revision does
		}
		w.row(rowCells(r, 90)...)
	}
	if err := w.flush(); err != nil {
		return err
	}
	out := &strings.Builder{}
	bad := p.Bad()
	switch {
	case p.Good():
		fmt.Fprintf(out, "\nAll Ready after %s: cluster %s, %d tenants", took.Round(100*time.Millisecond), state.Cluster, tenants)
		if refused > 0 {
			fmt.Fprintf(out, "; %d refused, as expected", refused)
		}
		out.WriteString(".\n")
	case end.Late:
		fmt.Fprintf(out, "\nNot Ready after %s (--timeout):\n", o.timeout)
		if len(p) == 0 {
			fmt.Fprintf(out, "  the cluster could not be looked at; see the logs in %s\n", state.Logs)
		}
	default:
		out.WriteString("\nNot Ready:\n")
	}
	for _, r := range bad {
		fmt.Fprintf(out, "  %s %s: %s\n", r.Kind, where(r), oneLine(r.Message, 600))
	}
	for _, r := range p {
		if r.Health == local.Refused {
			fmt.Fprintf(out, "\nRefused as expected: %s %s\n  %s\n", r.Kind, where(r), oneLine(r.Message, 600))
		}
	}
	for _, u := range state.Unmapped {
		fmt.Fprintf(out, "\nAsked for and not served: %s\n  Serve a directory for it with --map %s=DIR\n", u, u)
	}
	if !o.once {
		out.WriteString("\nKubeconfigs:\n")
		for _, name := range slices.Sorted(maps.Keys(state.Kubeconfigs)) {
			fmt.Fprintf(out, "  %-16s %s\n", name, state.Kubeconfigs[name])
		}
		fmt.Fprintf(out, "\nNext: kubectl --kubeconfig %s get tenants\n", state.Kubeconfigs["admin"])
	}
	_, err := fmt.Fprint(s.Out, out)
	return err
}

func where(r local.Row) string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

func rowCells(r local.Row, most int) []string {
	return []string{r.Tenant, r.Kind, where(r), string(r.Health), words.Short(r.Revision), oneLine(r.Message, most)}
}

// view shows a cluster while it converges: a block that is drawn anew on a terminal,
// a line for each change elsewhere.
type view struct {
	s    Streams
	live bool
	// quiet takes what it is shown for known.
	quiet bool
	start time.Time
	drawn int
	last  map[string]local.Row
}

func newView(s Streams) *view {
	return &view{s: s, live: terminal(s.Err), start: time.Now(), last: map[string]local.Row{}}
}

func (v *view) show(p local.Picture) {
	out := &strings.Builder{}
	if v.live {
		v.erase(out)
		block := &strings.Builder{}
		w := newTable(block)
		for _, r := range p {
			w.row(append([]string{mark(r.Health)}, rowCells(r, 60)...)...)
		}
		_ = w.flush() // into memory
		lines := strings.Split(strings.TrimRight(block.String(), "\n"), "\n")
		// A line that wrapped, or a block taller than the terminal, could not be erased.
		if width, height := size(v.s.Err); width > 1 {
			for i, l := range lines {
				lines[i] = cut(l, width-1)
			}
			lines = lines[:min(len(lines), max(1, height-2))]
		}
		fmt.Fprintf(out, "%s\n%s\n", strings.Join(lines, "\n"), since(v.start))
		v.drawn = len(lines) + 1
	} else {
		for _, r := range p {
			if old, ok := v.last[r.Key()]; !v.quiet && (!ok || old.Health != r.Health || old.Revision != r.Revision || r.Health == local.Failed && old.Message != r.Message) {
				fmt.Fprintf(out, "%6s %s %s %s: %s %s\n", since(v.start), mark(r.Health), r.Kind, where(r), r.Health, oneLine(r.Message, 140))
			}
			v.last[r.Key()] = r
		}
	}
	_, _ = fmt.Fprint(v.s.Err, out)
}

// done removes the block: the summary takes its place.
func (v *view) done() {
	out := &strings.Builder{}
	v.erase(out)
	v.drawn = 0
	_, _ = fmt.Fprint(v.s.Err, out)
}

func (v *view) erase(out *strings.Builder) {
	if v.drawn > 0 {
		fmt.Fprintf(out, "\x1b[%dA\x1b[J", v.drawn)
	}
}

func (v *view) note(message string) {
	if !v.live {
		_, _ = fmt.Fprintf(v.s.Err, "%6s %s\n", since(v.start), oneLine(message, 200))
	}
}

func mark(h local.Health) string {
	switch h {
	case local.Ready, local.Refused:
		return "✔"
	case local.Failed, local.Breached:
		return "✗"
	default:
		return "◌"
	}
}
