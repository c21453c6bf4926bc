// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/tenantry/tenantry/internal/fleet"
)

// interactive tells whether a person is at the other end.
func interactive(s Streams) bool {
	in, ok := s.In.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// interview asks for what a tenant needs, in as few questions as that takes, and for
// the rest tells the flags.
func interview(s Streams, o *tenantOptions) (name string, err error) {
	f, err := o.load()
	if err != nil {
		return "", err
	}
	in := bufio.NewReader(s.In)
	ask := func(question, otherwise string) string {
		if err != nil {
			return ""
		}
		if otherwise != "" {
			question += " [" + otherwise + "]"
		}
		_, _ = fmt.Fprint(s.Err, question+": ")
		answer, readErr := in.ReadString('\n')
		if readErr != nil {
			err = errors.New("no answer, so nothing was written")
		}
		if answer = strings.TrimSpace(answer); answer == "" {
			return otherwise
		}
		return answer
	}
	var names []string
	for _, overlay := range f.Overlays {
		names = append(names, overlay.Name)
	}
	if name = ask("Name of the tenant", ""); name == "" && err == nil {
		err = errors.New("a tenant needs a name; nothing was written")
	}
	o.groupOwners = fields(ask("Groups that own it, as the API server sees them", name+"-team"))
	o.environments = fields(ask("Environments", strings.Join(names, ",")))
	o.url = ask("URL of its Git repository, empty for none", "")
	if o.url != "" {
		o.path = ask("Path in it", "./"+fleet.EnvVariable)
	}
	o.namespaces = fields(ask("Namespaces that you declare for it beside "+name, ""))
	limit := ask("How many namespaces "+name+"-* it may make by itself", "0")
	if err != nil {
		return "", err
	}
	number, err := strconv.ParseInt(limit, 10, 32)
	if err != nil {
		return "", fmt.Errorf("%q is no number; nothing was written", limit)
	}
	o.selfService = int32(number)
	return name, nil
}

// fields are words between commas or blanks.
func fields(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
