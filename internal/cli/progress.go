// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress tells of long work: a line that counts seconds on a terminal, plain
// lines elsewhere.
type progress struct {
	w    io.Writer
	live bool
}

func newProgress(w io.Writer) *progress { return &progress{w: w, live: terminal(w)} }

const plainEvery = 15 * time.Second

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Begin implements local.Progress.
func (p *progress) Begin(what string) func(error) {
	start, done := time.Now(), make(chan struct{})
	every := plainEvery
	if p.live {
		every = 100 * time.Millisecond
	}
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ; n++ {
			if p.live {
				p.printf("\r\x1b[K%c %s %s", spinner[n%len(spinner)], what, since(start))
			} else if n > 0 {
				p.printf("  %s: %s so far\n", what, since(start))
			}
			select {
			case <-done:
				return
			case <-time.After(every):
			}
		}
	})
	return func(err error) {
		close(done)
		running.Wait()
		mark := "✔"
		if err != nil {
			mark = "✗"
		}
		if p.live {
			p.printf("\r\x1b[K")
		}
		p.printf("%s %s (%s)\n", mark, what, since(start))
	}
}

func (p *progress) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format, args...) // nobody to tell
}

func since(t time.Time) time.Duration { return time.Since(t).Round(100 * time.Millisecond) }
