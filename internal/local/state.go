// SPDX-License-Identifier: Apache-2.0

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// State is what a run leaves on disk for others to find it by.
type State struct {
	Name    string `json:"name"`
	Fleet   string `json:"fleet"`
	Cluster string `json:"cluster"`
	PID     int    `json:"pid"`
	// Process tells the process of that id from a later one.
	Process string    `json:"process"`
	Started time.Time `json:"started"`
	// Ready is set once the cluster serves and the fleet is being applied.
	Ready bool `json:"ready"`
	// Kubeconfigs are the files that were written, by name.
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	// Logs is the directory of the logs.
	Logs string `json:"logs"`
	// Unmapped are outside addresses that were asked for and not served.
	Unmapped []string `json:"unmapped,omitempty"`
	// Processes are the programs that run.
	Processes []processRecord `json:"processes"`
	// Running is found when the state is read.
	Running bool `json:"running"`
}

// ErrRunning says that a cluster of that name runs already.
var ErrRunning = errors.New("runs already")

// ErrNotFound says that there is no cluster of that name.
var ErrNotFound = errors.New("is not running")

var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?$`)

// StateDir is where local clusters keep their files: XDG_STATE_HOME or
// ~/.local/state, and in it tenantry.
func StateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenantry"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the cluster's files: %w; set XDG_STATE_HOME", err)
	}
	return filepath.Join(home, ".local", "state", "tenantry"), nil
}

// ErrBadName says that a name is no name of a local cluster.
var ErrBadName = errors.New("use 1 to 32 lower-case letters, digits and '-'")

// dirOf is where a cluster of that name keeps its files.
func dirOf(name string) (string, error) {
	if !validName.MatchString(name) {
		return "", fmt.Errorf("cluster name %q: %w", name, ErrBadName)
	}
	root, err := StateDir()
	return filepath.Join(root, name), err
}

// store is the directory of one cluster, held by its lock.
type store struct {
	dir    string
	unlock func()

	mu    sync.Mutex
	state State
}

// openStore takes the cluster's lock, ends what a crash left running and clears what
// it left on disk.
func openStore(name string) (*store, error) {
	dir, err := dirOf(name)
	if err != nil {
		return nil, err
	}
	var unlock func()
	for range 10 {
		// Who asks whether a cluster runs, or sweeps, holds the lock for a moment.
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		unlock, err = tryLock(filepath.Join(dir, "lock"))
		if err == nil || !errors.Is(err, errLocked) && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("cluster %s %w: stop it with `tenantry down --name %s`, or start another with --name", name, ErrRunning, name)
	}
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, unlock: unlock, state: State{Name: name}}
	if old, err := readState(dir); err == nil {
		endLeftovers(old.Processes)
	}
	if err := s.clear(); err != nil {
		unlock()
		return nil, err
	}
	return s, nil
}

// clear removes everything but the lock.
func (s *store) clear(keep ...string) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "lock" || slices.Contains(keep, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// close gives the name free. The logs stay until the next start; of a passing cluster
// nothing does.
func (s *store) close() error {
	defer s.unlock()
	if strings.HasPrefix(s.state.Name, passing) {
		return os.RemoveAll(s.dir)
	}
	return s.clear("logs")
}

// passing begins the names of clusters that are for one run of a program. The names hold
// its id.
const passing = "passing-"

// PassingName is a name for a cluster that is gone with this program, whatever ends it:
// what it leaves when it is killed, the next one sweeps.
func PassingName(n int) string { return fmt.Sprintf("%s%d-%d", passing, os.Getpid(), n) }

// Sweep clears up after programs that were killed while they had passing clusters.
func Sweep() error {
	root, err := StateDir()
	if err != nil {
		return err
	}
	dirs, err := filepath.Glob(filepath.Join(root, passing+"*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if locked(dir) {
			continue
		}
		// What a kill left is ended and cleared by opening.
		left, err := openStore(filepath.Base(dir))
		if errors.Is(err, ErrRunning) {
			continue
		}
		if err != nil {
			return err
		}
		if err := left.close(); err != nil {
			return err
		}
	}
	return nil
}

// change writes the state anew.
func (s *store) change(f func(*State)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.state)
	bytes, err := json.MarshalIndent(s.state, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(s.dir, "state.json"), bytes)
}

func readState(dir string) (State, error) {
	var s State
	bytes, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(bytes, &s)
}

// endLeftovers ends processes of a run that crashed: by id, and only where the
// process of that id is the very one that was started.
func endLeftovers(records []processRecord) {
	for _, r := range slices.Backward(records) {
		if r.Started != "" && startTime(r.PID) == r.Started {
			_ = syscall.Kill(r.PID, syscall.SIGKILL) // gone meanwhile is as good
		}
	}
	// They write to the directory that is cleared next until they are gone.
	deadline := time.Now().Add(5 * time.Second)
	for _, r := range records {
		for r.Started != "" && startTime(r.PID) == r.Started && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Load reads the state of one local cluster.
func Load(name string) (State, error) {
	dir, err := dirOf(name)
	if err != nil {
		return State{}, err
	}
	s, err := readState(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return State{}, fmt.Errorf("cluster %s %w; if it ran detached and ended by itself, %s.log says why", name, ErrNotFound, dir)
		}
		return State{}, err
	}
	s.Running = locked(dir)
	return s, nil
}

func locked(dir string) bool {
	unlock, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		return errors.Is(err, errLocked)
	}
	unlock()
	return false
}

// List reads the states of all local clusters.
func List() ([]State, error) {
	root, err := StateDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return []State{}, nil
	}
	if err != nil {
		return nil, err
	}
	all := []State{}
	for _, e := range entries {
		if s, err := Load(e.Name()); err == nil {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// signal asks the process that runs the cluster to stop, if it is the one that said so.
func (s State) signal() error {
	if startTime(s.PID) != s.Process {
		return nil
	}
	return syscall.Kill(s.PID, syscall.SIGTERM)
}

// Down stops a local cluster, or clears up after one that crashed.
func Down(ctx context.Context, name string) error {
	s, err := Load(name)
	if err != nil {
		return err
	}
	if s.Running {
		if err := s.signal(); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop process %d: %w", s.PID, err)
		}
	}
	dir, err := dirOf(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	unlock, err := lockFile(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return fmt.Errorf("wait for process %d to stop: %w", s.PID, err)
	}
	unlock()
	// What a crash left is ended and cleared by opening.
	left, err := openStore(name)
	if err != nil {
		return err
	}
	return left.close()
}
