// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lookEvery is how often the cluster is looked at.
	lookEvery = 300 * time.Millisecond
	// quiet is how long there is no news before failures are believed to last.
	quiet = 15 * time.Second
	// hasty is the same for somebody who waits for the outcome of an edit.
	hasty = 2 * time.Second
)

// Watching says how a cluster is watched while it converges.
type Watching struct {
	// Cluster by its name in the fleet.
	Cluster string
	// Timeout ends the watching.
	Timeout time.Duration
	// Edited says that the cluster was at rest, and what is wanted is the outcome of an edit.
	Edited bool
	// Show is given every picture, and Note what went wrong in taking one.
	Show func(Picture)
	Note func(string)
	// Dead tells that the cluster has ended.
	Dead <-chan error
	// Behind says what has not yet taken up what is served, or ""; nil asks nothing.
	Behind func(context.Context) string
}

func (w Watching) caughtUp(ctx context.Context) bool { return w.Behind == nil || w.Behind(ctx) == "" }

// Convergence is how a cluster got to where it is.
type Convergence struct {
	Picture Picture
	Took    time.Duration
	// Late says that the time was over before the cluster came to rest.
	Late bool
	// Spans are, by Row.Key, from when a thing was seen to when it came to what it is
	// now; since the watching began.
	Spans map[string]Span
}

// Span is a time within a run.
type Span struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Converge watches a cluster until all of it is Ready, or stays as it is and is not. The
// cluster's end is an error.
func Converge(ctx context.Context, c client.Client, w Watching) (*Convergence, error) {
	start := time.Now()
	out := &Convergence{Spans: map[string]Span{}}
	deadline := time.After(w.Timeout)
	changed, retried, patience := start, false, quiet
	if w.Edited {
		patience = hasty
	}
	var first Picture
	news, caughtUp := newNews(), false
	for {
		began := time.Now()
		picture, err := look(ctx, c, w.Cluster)
		// Looking at a large cluster takes of what it works with.
		const share, most = 8, 3 * time.Second
		pause := min(max(lookEvery, share*time.Since(began)), most)
		if err != nil && ctx.Err() == nil {
			// An API server that is slow to answer is asked again.
			w.Note(err.Error())
		}
		if err == nil {
			if news.in(picture) {
				changed = time.Now()
			}
			if first == nil {
				first = picture
			}
			out.take(picture, time.Since(start))
			w.Show(picture)
			lasting := news.lasting(picture)
			settled := lasting.Settled()
			if settled && !retried && time.Since(changed) > patience/3 && w.caughtUp(ctx) {
				retried = true
				if again := w.toRetry(first, picture); len(again) > 0 {
					changed = time.Now() // a failure that lasts fails again
					news.forget(again)
					if err := again.retry(ctx, c); err != nil {
						w.Note(err.Error())
					}
				}
			}
			rest := picture.Good()
			if !rest && settled && time.Since(changed) > patience {
				// What is being tried once more is as it was before.
				out.take(lasting, time.Since(start))
				rest = true
			}
			if rest && (w.Behind == nil || caughtUp) {
				select {
				case err := <-w.Dead:
					return out, err // what it left looks as good as ever
				default:
				}
				out.Took = time.Since(start)
				return out, nil
			}
			// A picture counts that is taken after everything had caught up: one from before
			// may be of what was served before.
			caughtUp = rest && w.caughtUp(ctx)
			if caughtUp {
				continue
			}
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case err := <-w.Dead:
			return out, err
		case <-deadline:
			out.Took, out.Late = time.Since(start), true
			return out, nil
		case <-time.After(pause):
		}
	}
}

// look is Look with an end: an API server that hangs is asked again.
func look(ctx context.Context, c client.Client, cluster string) (Picture, error) {
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return Look(ctx, c, cluster)
}

// news knows what was seen of things, so that what fails, is tried again and fails as
// before is no news.
type news struct {
	seen map[string]bool
	// failed are rows as they failed last, by Row.Key, until they are Ready.
	failed map[string]Row
}

func newNews() *news { return &news{seen: map[string]bool{}, failed: map[string]Row{}} }

// in tells whether there is any in a picture.
func (n *news) in(p Picture) bool {
	found := false
	for _, r := range p {
		_, failing := n.failed[r.Key()]
		switch {
		case r.Health == Ready || r.Health == Refused:
			delete(n.failed, r.Key())
		case r.Health == Failed:
			n.failed[r.Key()] = r
		case failing:
			continue // it is being tried again
		}
		what := fmt.Sprintf("%s %s %s %s", r.Key(), r.Health, r.Revision, digits.ReplaceAllString(r.Message, ""))
		found = found || !n.seen[what]
		n.seen[what] = true
	}
	return found
}

// forget that things failed: they are made to be tried again, and that is awaited.
func (n *news) forget(p Picture) {
	for _, r := range p {
		delete(n.failed, r.Key())
	}
}

// digits differ between messages that say the same: times, names of Pods.
var digits = regexp.MustCompile(`[0-9]+|-[a-z0-9]{5}\b`)

// lasting is a picture in which what is being tried again is as it failed.
func (n *news) lasting(p Picture) Picture {
	all := slices.Clone(p)
	for i, r := range all {
		if last, ok := n.failed[r.Key()]; ok && r.Health == Progressing && r.Kind != "Cluster" {
			all[i] = last
		}
	}
	return all
}

// take notes when things changed.
func (c *Convergence) take(p Picture, now time.Duration) {
	before := map[string]Health{}
	for _, r := range c.Picture {
		before[r.Key()] = r.Health
	}
	for _, r := range p {
		s, known := c.Spans[r.Key()]
		if !known {
			s.From = now
		}
		if !known || before[r.Key()] != r.Health {
			s.To = now
		}
		c.Spans[r.Key()] = s
	}
	c.Picture = p
}
