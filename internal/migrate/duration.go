// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiDuration is what the API takes, of what Go writes.
var apiDuration = regexp.MustCompile("^([0-9]+([.][0-9]+)?(ms|s|m|h))+$")

// duration reads one that is not the default. What is none stays unread and is noted.
func duration(f field, byDefault string) *metav1.Duration {
	d, err := time.ParseDuration(f.peek())
	if err != nil || d <= 0 || !apiDuration.MatchString(d.String()) {
		return nil
	}
	f.done()
	if otherwise, err := time.ParseDuration(byDefault); err == nil && otherwise == d {
		return nil
	}
	return &metav1.Duration{Duration: d}
}
