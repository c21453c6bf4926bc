// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/tenantry/tenantry/api/v1alpha1"
)

// Options of a run.
type Options struct {
	// Parallel is how many attacks run at once. Default: 8.
	Parallel int
	// Progress is told of each attack that is over.
	Progress func(Result)
	// Stage makes harmless objects for real, and removes them at the end, so that their
	// change can be attacked too. Without it nothing is written: every request that
	// would write is a dry run.
	Stage bool
}

// Runner sends attacks, each as the identity that it names.
type Runner struct {
	opts   Options
	host   string
	client *http.Client
	// twins remembers answers to harmless requests, which many attacks share.
	twins sync.Map
	stage stage
}

// ErrImpersonating says that the configuration acts as somebody else already.
var ErrImpersonating = errors.New("the attacks act as others, so the configuration must not: leave out --as")

// NewRunner makes a Runner that acts with the rights of a configuration, which has to be
// let impersonate.
func NewRunner(cfg *rest.Config, opts Options) (*Runner, error) {
	if cfg.Impersonate.UserName != "" {
		return nil, ErrImpersonating
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = -1, -1
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return nil, err
	}
	if opts.Parallel <= 0 {
		opts.Parallel = 8
	}
	return &Runner{opts: opts, host: strings.TrimSuffix(host.String(), "/"), client: client}, nil
}

// Run plays every attack of the suite in every scene. It returns what it has when the
// context ends.
func (r *Runner) Run(ctx context.Context, s *Suite, kinds Kinds, scenes ...Scene) ([]Result, error) {
	results := make([]Result, len(s.Attacks)*len(scenes))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.opts.Parallel)
	var mu sync.Mutex
	for i, sc := range scenes {
		for j, a := range s.Attacks {
			g.Go(func() error {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				got, err := r.play(ctx, s, kinds, sc, a)
				if err != nil {
					return fmt.Errorf("attack %s on tenant %s: %w", a.ID, sc.Tenant, err)
				}
				results[i*len(s.Attacks)+j] = got
				if r.opts.Progress != nil {
					mu.Lock()
					defer mu.Unlock()
					r.opts.Progress(got)
				}
				return nil
			})
		}
	}
	err := g.Wait()
	return results, errors.Join(err, r.unstage(context.WithoutCancel(ctx)))
}

// play makes one attack on one tenant.
func (r *Runner) play(ctx context.Context, s *Suite, kinds Kinds, sc Scene, a *Attack) (Result, error) {
	left := func(o Outcome, why string) (Result, error) {
		got := result(a, sc, nil)
		got.Outcome, got.Reason = o, why
		return got, nil
	}
	if sc.Absent != "" {
		return left(NotTested, sc.Absent)
	}
	if why := sc.lets(a); why != "" {
		return left(Excepted, why)
	}
	subject, why := sc.subject(a)
	if why != "" {
		return left(NotTested, why)
	}
	for _, n := range append([]string{"ACTIVE"}, a.Needs...) {
		if _, ok := sc.Values[n]; !ok && (n != "ACTIVE" || !a.frozen()) {
			return left(NotTested, sc.Missing[n])
		}
	}
	if a.May != nil {
		return r.playAsk(ctx, sc, a, subject)
	}
	attacks, err := s.drafts(sc, kinds, a.Try, r.opts.Stage)
	if err == nil {
		var paths []PathResult
		paths, err = r.playDrafts(ctx, s, kinds, sc, a, subject, attacks)
		if err == nil {
			got := result(a, sc, paths)
			if got.Outcome == Through {
				i := slices.IndexFunc(paths, func(p PathResult) bool { return p.Outcome == Through })
				got.Namespace = attacks[i].namespace
				got.Grant, err = r.grant(ctx, a, subject, attacks[i])
			}
			return got, err
		}
	}
	if m := (missing{}); errors.As(err, &m) {
		return left(NotTested, m.why)
	}
	return Result{}, err
}

// frozen attacks are on a tenant that is frozen.
func (a *Attack) frozen() bool {
	for _, n := range a.Needs {
		if n == "FROZEN" {
			return true
		}
	}
	return a.Wall == WallRBAC
}

func (r *Runner) playAsk(ctx context.Context, sc Scene, a *Attack, as Subject) (Result, error) {
	attacked, err := ask(sc, a.Try)
	var twin Request
	if err == nil {
		twin, err = ask(sc, a.twin())
	}
	if m := (missing{}); errors.As(err, &m) {
		got := result(a, sc, nil)
		got.Reason = m.why
		return got, nil
	}
	if err != nil {
		return Result{}, err
	}
	answer, err := r.send(ctx, as, attacked)
	if err != nil {
		return Result{}, err
	}
	control, err := r.harmless(ctx, as, twin)
	if err != nil {
		return Result{}, err
	}
	got := result(a, sc, []PathResult{verdict(a, attacked, answer, control)})
	if got.Outcome == Through {
		got.Grant = answer.Message
	}
	return got, nil
}

// grant asks the authorizer why an attack got through: what it allowed that the wall
// relies on nobody having.
func (r *Runner) grant(ctx context.Context, a *Attack, as Subject, d draft) (string, error) {
	verb, sub, _ := strings.Cut(d.path, "/")
	asked := map[string]any{"verb": authorized[verb], "group": d.gvk.Group, "resource": d.resource.Name, "subresource": sub, "name": d.name, "namespace": d.namespace}
	switch {
	case policyOf(a.Wall) != "":
		asked = map[string]any{"verb": v1alpha1.VerbBypass, "group": v1alpha1.Group, "resource": "tenants"}
	case a.Wall == WallEscalation && d.gvk.Kind == "Role":
		asked = map[string]any{"verb": "escalate", "group": d.gvk.Group, "resource": "roles", "namespace": d.namespace}
	case a.Wall == WallEscalation:
		asked = map[string]any{"verb": "bind", "group": d.gvk.Group, "resource": "clusterroles", "namespace": d.namespace}
	case a.Wall != WallRBAC:
		return "", nil
	}
	q, err := question(asked)
	if err != nil {
		return "", err
	}
	answer, err := r.send(ctx, as, q)
	if err != nil || !answer.Passed {
		return "", err
	}
	return answer.Message, nil
}

// authorized is the verb that the authorizer is asked about a request.
var authorized = map[string]string{
	PathCreate: "create", PathGenerate: "create", PathApply: "patch", PathMerge: "patch", PathStrategic: "patch", PathJSON: "patch",
	PathPut: "update", PathDelete: "delete", PathSweep: "deletecollection", PathGet: "get", PathList: "list",
}

func verdict(a *Attack, req Request, answer, twin Answer) PathResult {
	p := PathResult{Path: req.Path, Request: req.String(), Answer: answer}
	p.Outcome, p.Reason = judge(a.Wall, answer, twin)
	return p
}

func (r *Runner) playDrafts(ctx context.Context, s *Suite, kinds Kinds, sc Scene, a *Attack, as Subject, attacks []draft) ([]PathResult, error) {
	var paths []PathResult
	harmless := a.twin()
	for _, d := range attacks {
		request, answer, err := r.attack(ctx, as, d)
		if err != nil {
			return nil, err
		}
		control, err := r.control(ctx, s, kinds, sc, as, harmless, d)
		if err != nil {
			return nil, err
		}
		paths = append(paths, verdict(a, request, answer, control))
	}
	return paths, nil
}

// control is the answer to the harmless twin of a request.
func (r *Runner) control(ctx context.Context, s *Suite, kinds Kinds, sc Scene, as Subject, t Try, of draft) (Answer, error) {
	if t.May != nil {
		question, err := ask(sc, t)
		if err != nil {
			return Answer{}, err
		}
		return r.harmless(ctx, as, question)
	}
	d, err := r.twinOf(s, kinds, sc, t, of)
	if err != nil {
		return Answer{}, err
	}
	_, answer, err := r.attackWith(ctx, as, d, r.harmless)
	return answer, err
}

// twinOf is the harmless request: on the same path, where the twin takes it.
func (r *Runner) twinOf(s *Suite, kinds Kinds, sc Scene, t Try, of draft) (draft, error) {
	all, err := s.drafts(sc, kinds, t, r.opts.Stage)
	if err != nil {
		return draft{}, err
	}
	for _, d := range all {
		if d.path == of.path && d.staged == of.staged {
			if d.staged && len(d.change) == 0 {
				// A write that changes nothing would show little.
				d.change = map[string]any{"metadata": map[string]any{"labels": map[string]any{fieldManager: "harmless"}}}
				merge(d.changed, d.change)
			}
			return d, nil
		}
	}
	return all[0], nil
}

func (r *Runner) attack(ctx context.Context, as Subject, d draft) (Request, Answer, error) {
	return r.attackWith(ctx, as, d, r.send)
}

// attackWith sends a draft; one made from the object that is there is made anew when
// somebody else changes that.
func (r *Runner) attackWith(ctx context.Context, as Subject, d draft, send func(context.Context, Subject, Request) (Answer, error)) (Request, Answer, error) {
	if d.staged {
		if err := r.staged(ctx, d); err != nil {
			return Request{Path: d.path}, Answer{Message: err.Error()}, ctx.Err()
		}
	}
	for try := 0; ; try++ {
		var live map[string]any
		if d.needsLive() {
			verb, _, _ := strings.Cut(d.path, "/")
			var err error
			live, err = r.get(ctx, d.url(verb, ""))
			if err != nil {
				return Request{Path: d.path}, Answer{Message: err.Error()}, ctx.Err()
			}
		}
		request, err := d.request(live)
		if err != nil {
			return request, Answer{}, err
		}
		answer, err := send(ctx, as, request)
		if err == nil && try < 5 && strings.Contains(answer.Message, "the object has been modified") {
			continue
		}
		return request, answer, err
	}
}

// harmless sends a twin once for all attacks that share it.
func (r *Runner) harmless(ctx context.Context, as Subject, req Request) (Answer, error) {
	key := as.User + "\n" + strings.Join(as.Groups, ",") + "\n" + req.Method + req.URL + req.Type + "\n" + string(req.Body)
	once, _ := r.twins.LoadOrStore(key, sync.OnceValues(func() (Answer, error) { return r.send(ctx, as, req) }))
	return once.(func() (Answer, error))()
}

// send makes one request as somebody. The error is one of the run: that the request got
// no answer.
func (r *Runner) send(ctx context.Context, as Subject, req Request) (Answer, error) {
	if err := safe(req); err != nil {
		return Answer{}, err
	}
	if strings.Contains(req.URL, "/token?") && !r.opts.Stage {
		return Answer{Message: "a request for a token knows no dry run, so none is sent"}, nil
	}
	code, body, err := r.do(ctx, as, req)
	if err != nil && ctx.Err() == nil {
		return Answer{Message: err.Error()}, nil // one that got no answer shows nothing, and stops nobody
	}
	if err != nil {
		return Answer{}, err
	}
	answer := read(req, code, body)
	if answer.Message == "" && !answer.Passed {
		answer.Message = fmt.Sprintf("%d %s", code, http.StatusText(code))
	}
	return answer, nil
}

// safe holds the one promise of a run: it leaves nothing.
func safe(req Request) error {
	if req.Method == http.MethodGet || req.Path == "ask" || strings.Contains(req.URL, "dryRun=All") {
		return nil
	}
	return fmt.Errorf("%s is no dry run", req)
}

// do sends a request, again when the API server says so.
func (r *Runner) do(ctx context.Context, as Subject, req Request) (int, []byte, error) {
	const tries = 5
	for try := 1; ; try++ {
		h, err := http.NewRequestWithContext(ctx, req.Method, r.host+req.URL, bytes.NewReader(req.Body))
		if err != nil {
			return 0, nil, err
		}
		h.Header.Set("Accept", "application/json")
		if req.accept != "" {
			h.Header.Set("Accept", req.accept)
		}
		if req.Type != "" {
			h.Header.Set("Content-Type", req.Type)
		}
		if as.User != "" {
			h.Header.Set("Impersonate-User", as.User)
			for _, g := range as.Groups {
				h.Header.Add("Impersonate-Group", g)
			}
		}
		res, err := r.client.Do(h)
		if err != nil {
			return 0, nil, err
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close() // read to its end
		if err != nil {
			return 0, nil, err
		}
		wait := res.Header.Get("Retry-After")
		if wait == "" || try == tries {
			return res.StatusCode, body, nil
		}
		seconds, err := strconv.Atoi(wait)
		if err != nil {
			seconds = 1
		}
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(time.Duration(seconds) * time.Second):
		}
	}
}

// get reads an object with the run's own rights.
func (r *Runner) get(ctx context.Context, url string) (map[string]any, error) {
	code, body, err := r.do(ctx, Subject{}, Request{Method: http.MethodGet, URL: url})
	if err != nil {
		return nil, err
	}
	o := map[string]any{}
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("read %s: %v", url, o["message"])
	}
	maps.DeleteFunc(o, func(k string, _ any) bool { return k == "managedFields" })
	return o, nil
}
