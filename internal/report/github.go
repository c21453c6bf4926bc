// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"
)

// GitHub writes what failed and what is warned of as commands of a workflow, which shows
// them at their lines in a pull request.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
func GitHub(w io.Writer, r Report) error {
	for _, c := range r.Cases {
		level := map[State]string{Failed: "error", Warned: "warning"}[c.State]
		if level == "" {
			continue
		}
		properties := []string{"title=" + property(c.ID+": "+c.Title)}
		if c.File != "" {
			properties = append(properties, "file="+property(c.File))
		}
		if c.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", c.Line))
		}
		if c.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", c.Column))
		}
		message := c.Message
		if c.Mend != "" {
			message += "\n" + c.Mend
		}
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", level, strings.Join(properties, ","), data(message)); err != nil {
			return err
		}
	}
	return nil
}

// data escapes what a workflow would read as the end of a command.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s))
}
