// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// stage is the harmless objects that were made for attacks on their change.
type stage struct {
	mu   sync.Mutex
	made map[string]func() error
}

// staged makes a draft's harmless object, once.
func (r *Runner) staged(ctx context.Context, d draft) error {
	at := d.url(PathApply, "")
	r.stage.mu.Lock()
	if r.stage.made == nil {
		r.stage.made = map[string]func() error{}
	}
	once := r.stage.made[at]
	if once == nil {
		once = sync.OnceValue(func() error { return r.make(ctx, at, d) })
		r.stage.made[at] = once
	}
	r.stage.mu.Unlock()
	return once()
}

func (r *Runner) make(ctx context.Context, at string, d draft) error {
	body, err := json.Marshal(d.base)
	if err != nil {
		return err
	}
	code, answer, err := r.do(ctx, Subject{}, Request{
		Method: http.MethodPatch, Type: "application/apply-patch+yaml", Body: body,
		URL: at + "?force=true&fieldValidation=Strict&fieldManager=" + fieldManager,
	})
	if err != nil {
		return err
	}
	if code >= http.StatusMultipleChoices {
		return fmt.Errorf("make the harmless %s: %s", at, answer)
	}
	return nil
}

// unstage removes what was made.
func (r *Runner) unstage(ctx context.Context) error {
	r.stage.mu.Lock()
	defer r.stage.mu.Unlock()
	var errs []error
	for at := range r.stage.made {
		code, answer, err := r.do(ctx, Subject{}, Request{Method: http.MethodDelete, URL: at + "?gracePeriodSeconds=0"})
		if err == nil && code >= http.StatusMultipleChoices && code != http.StatusNotFound {
			err = fmt.Errorf("remove %s: %s", at, strings.TrimSpace(string(answer)))
		}
		errs = append(errs, err)
	}
	r.stage.made = nil
	return errors.Join(errs...)
}
