// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"io"
	"sync"

	"github.com/tenantry/tenantry/internal/local"
	"github.com/tenantry/tenantry/internal/report"
	"github.com/tenantry/tenantry/internal/trial"
)

// writers write a run, by the ending of a file.
var writers = map[string]func(io.Writer, *trial.Run) error{
	".txt":  trial.Text,
	".md":   trial.Markdown,
	".html": trial.HTML,
	".xml":  func(w io.Writer, r *trial.Run) error { return report.JUnit(w, r.Report()) },
	".json": func(w io.Writer, r *trial.Run) error { return printAs(w, "json", r) },
	".yaml": func(w io.Writer, r *trial.Run) error { return printAs(w, "yaml", r) },
}

// writerFor is the one of --output.
func writerFor(output string) func(io.Writer, *trial.Run) error {
	return writers[map[string]string{"": ".txt", "markdown": ".md", "html": ".html", "junit": ".xml", "json": ".json", "yaml": ".yaml"}[output]]
}

// stage shows how a cluster's run goes.
type stage struct {
	*progress
	s     Streams
	view  *view
	count *counter
}

// newStage shows on a terminal what moves, or, where several clusters share it, lines that
// begin with whose they are.
func newStage(s Streams, prefix string) *stage {
	if prefix != "" {
		s.Err = &prefixed{w: s.Err, prefix: []byte(prefix)}
	}
	return &stage{progress: newProgress(s.Err), s: s}
}

// Show implements drill.Watcher.
func (t *stage) Show(p local.Picture) {
	if t.view == nil {
		t.view = newView(t.s)
	}
	t.view.show(p)
}

// Note implements drill.Watcher.
func (t *stage) Note(message string) {
	if t.view == nil {
		t.view = newView(t.s)
	}
	t.view.note(message)
}

// Count implements drill.Watcher.
func (t *stage) Count(total int, what string) {
	t.count = newCounter(t.s.Err)
	t.count.begin(total, what)
}

// Add implements drill.Watcher.
func (t *stage) Add(what string) { t.count.add(what) }

// Done implements drill.Watcher.
func (t *stage) Done() {
	if t.view != nil {
		t.view.done()
		t.view = nil
	}
	if t.count != nil {
		t.count.end()
		t.count = nil
	}
}

// prefixed begins every line with whose it is.
type prefixed struct {
	mu     sync.Mutex
	w      io.Writer
	prefix []byte
	rest   []byte
}

// Write implements io.Writer. Only whole lines are passed on: others write too.
func (p *prefixed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, b...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			return len(b), nil
		}
		line := append(bytes.Clone(p.prefix), p.rest[:i+1]...)
		p.rest = p.rest[i+1:]
		if _, err := p.w.Write(line); err != nil {
			return len(b), err
		}
	}
}
