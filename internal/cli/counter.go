// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"io"
	"sync"
	"time"

	"github.com/tenantry/tenantry/internal/words"
)

// counter tells how far work of known size is: a line that moves on a terminal, a line
// every quarter elsewhere.
type counter struct {
	*progress
	mu          sync.Mutex
	done, total int
	quarter     int
	drawn       time.Time
	begun       bool
}

func newCounter(w io.Writer) *counter { return &counter{progress: newProgress(w)} }

func (c *counter) begin(total int, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total, c.begun = total, true
	if !c.live {
		c.printf("%s\n", words.Count(total, what))
	}
}

// add says that one more is done, of what.
func (c *counter) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.live {
		if now := time.Now(); now.Sub(c.drawn) > 50*time.Millisecond {
			c.drawn = now
			c.printf("\r\x1b[K%c %d of %d, %s", spinner[c.done/8%len(spinner)], c.done, c.total, what)
		}
		return
	}
	if q := 4 * c.done / c.total; q > c.quarter {
		c.quarter = q
		c.printf("  %d of %d\n", c.done, c.total)
	}
}

// end clears the line.
func (c *counter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.live && c.begun {
		c.printf("\r\x1b[K")
	}
	c.begun = false
}
