// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// Answer is what became of a request.
type Answer struct {
	// Passed says that nothing stood in its way.
	Passed bool `json:"passed"`
	// Wall that refused it, or "" when an error did.
	Wall string `json:"wall,omitempty"`
	// Code of the answer.
	Code int `json:"code,omitempty"`
	// Message that came with it.
	Message string `json:"message,omitempty"`
}

// ruleMark ends the messages of Tenantry's policies.
var ruleMark = regexp.MustCompile(`ValidatingAdmissionPolicy 'tenantry-[^']*'.*\[([a-z-]+/[A-Za-z.-]+)\]\s*$`)

// podSecurity begins the message of that admission.
var podSecurity = regexp.MustCompile(`violates PodSecurity "[a-z]+:`)

// Authorized says that the authorizer let a request pass, whatever became of it: it is
// asked before anything else is looked at.
func (a Answer) Authorized() bool {
	return a.Passed || a.Code == http.StatusBadRequest || a.Code == http.StatusNotFound || a.Code == http.StatusMethodNotAllowed ||
		a.Code == http.StatusConflict || a.Code == http.StatusUnprocessableEntity
}

// read judges the API server's answer to a request.
func read(r Request, code int, body []byte) Answer {
	a := judgeAnswer(r, code, body)
	a.Code = code
	return a
}

func judgeAnswer(r Request, code int, body []byte) Answer {
	status := struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Reason  string `json:"reason"`
		Status  any    `json:"status"`
	}{}
	_ = json.Unmarshal(body, &status) // an answer that is no JSON has no message
	switch {
	case code < http.StatusMultipleChoices && r.Path == "ask":
		return readReview(body)
	case code < http.StatusMultipleChoices:
		return readObject(r, body)
	case code == http.StatusConflict && status.Reason == "AlreadyExists":
		return Answer{Passed: true} // admission comes first
	case code == http.StatusNotFound && r.Path == PathGet:
		return Answer{Passed: true, Message: status.Message} // authorization comes first
	case code != http.StatusForbidden || r.Path == "ask":
		return Answer{Message: status.Message}
	}
	return Answer{Wall: WallOf(status.Message), Message: status.Message}
}

// WallOf is the wall that a refusal is from, also as Flux passes it on, or "".
func WallOf(message string) string {
	if strings.Contains(message, " cannot impersonate") {
		return "" // whoever runs the attacks lacks the right: that is nobody's wall
	}
	if m := ruleMark.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	switch {
	case podSecurity.MatchString(message):
		return WallPodSecurity
	case strings.Contains(message, "exceeded quota: "):
		return WallQuota
	case strings.Contains(message, "attempting to grant RBAC permissions not currently held"), strings.Contains(message, "not found, cannot grant"):
		return WallEscalation
	case strings.Contains(message, " cannot ") && strings.Contains(message, " resource ") && strings.Contains(message, `User "`),
		strings.Contains(message, " cannot ") && strings.Contains(message, " path "):
		return WallRBAC
	}
	return ""
}

func readReview(body []byte) Answer {
	review := struct {
		Status struct {
			Allowed         bool   `json:"allowed"`
			Reason          string `json:"reason"`
			EvaluationError string `json:"evaluationError"`
		} `json:"status"`
	}{}
	if err := json.Unmarshal(body, &review); err != nil {
		return Answer{Message: err.Error()}
	}
	if review.Status.Allowed {
		return Answer{Passed: true, Message: review.Status.Reason}
	}
	if review.Status.EvaluationError != "" {
		return Answer{Message: review.Status.EvaluationError} // an authorizer that fails holds nothing
	}
	return Answer{Wall: WallRBAC, Message: review.Status.Reason}
}

// readObject sees that what was asked for is in the answer: an API server may leave out
// fields that it does not know of, and then nothing was done.
func readObject(r Request, body []byte) Answer {
	if len(r.Body) == 0 || len(r.wants) == 0 {
		return Answer{Passed: true}
	}
	got := map[string]any{}
	if err := json.Unmarshal(body, &got); err != nil {
		return Answer{Message: err.Error()}
	}
	wants := r.wants
	if strings.HasPrefix(r.Path, PathGenerate) {
		wants = nameless(wants)
	}
	if strings.Contains(r.Path, "/") || contains(got, wants) {
		return Answer{Passed: true}
	}
	return Answer{Message: "the API server left out what was asked for"}
}

func nameless(o map[string]any) map[string]any {
	meta, ok := o["metadata"].(map[string]any)
	if !ok || meta["name"] == nil {
		return o
	}
	out, copied := map[string]any{}, map[string]any{}
	for k, v := range o {
		out[k] = v
	}
	for k, v := range meta {
		if k != "name" {
			copied[k] = v
		}
	}
	out["metadata"] = copied
	return out
}

// contains tells whether all of want is in got.
func contains(got, want any) bool {
	switch want := want.(type) {
	case nil:
		return got == nil
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			return len(want) == 0 && got == nil
		}
		for k, v := range want {
			if k == "stringData" {
				continue // is written as data
			}
			if !contains(fields[k], v) {
				return false
			}
		}
		return true
	case []any:
		items, _ := got.([]any)
		for _, w := range want {
			if !slices.ContainsFunc(items, func(g any) bool { return contains(g, w) }) {
				return false
			}
		}
		return true
	case int, int64, float64:
		return asFloat(got) == asFloat(want)
	default:
		return got == want
	}
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return -1
}
