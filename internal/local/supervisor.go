// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// supervisor starts processes, notices when one dies, and stops them in reverse order.
type supervisor struct {
	logs string
	// record is told of every change in what runs, so that a crash of ours can be
	// cleaned up after.
	record func([]processRecord) error

	spawn chan func()
	// dead gives the first death to whoever asks, as often as it is asked.
	dead chan error
	died sync.Once
	over chan struct{}

	mu        sync.Mutex
	processes []*process
	stopping  bool
}

// processSpec says what to run.
type processSpec struct {
	name string
	path string
	args []string
	env  []string
}

// process is one running program.
type process struct {
	processSpec
	cmd  *exec.Cmd
	done chan struct{}
	// replaced says that its end is no death to tell of.
	replaced bool
}

// processRecord finds a process again after a crash of ours: an id alone may have
// been given to another program since.
type processRecord struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

func newSupervisor(logs string, record func([]processRecord) error) (*supervisor, error) {
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, err
	}
	s := &supervisor{logs: logs, record: record, spawn: make(chan func()), dead: make(chan error), over: make(chan struct{})}
	// On Linux a child may ask to die with the thread that started it. One thread
	// starts them all and lives as long as we do.
	go func() {
		runtime.LockOSThread()
		for f := range s.spawn {
			f()
		}
	}()
	return s, nil
}

// start runs a program and returns once it is started, not once it is ready.
func (s *supervisor) start(spec processSpec) error {
	log, err := os.OpenFile(s.logFile(spec.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	p := &process{processSpec: spec, cmd: exec.Command(spec.path, spec.args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = spec.env
	p.cmd.SysProcAttr = dieWithParent()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return errors.New("the cluster is stopping")
	}
	started := make(chan error)
	s.spawn <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", spec.name, err)
	}
	s.processes = append(s.processes, p)
	go s.wait(p)
	return s.recordLocked()
}

func (s *supervisor) recordLocked() error {
	records := make([]processRecord, 0, len(s.processes))
	for _, p := range s.processes {
		pid := p.cmd.Process.Pid
		records = append(records, processRecord{Name: p.name, PID: pid, Started: startTime(pid)})
	}
	return s.record(records)
}

func (s *supervisor) wait(p *process) {
	err := p.cmd.Wait()
	close(p.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || p.replaced {
		return
	}
	end := "ended by itself"
	if err != nil {
		end = "died: " + err.Error()
	}
	death := fmt.Errorf("%s %s; the end of %s:\n%s", p.name, end, s.logFile(p.name), s.tail(p.name))
	s.died.Do(func() { // the first death is the one to tell of
		go func() {
			for {
				select {
				case s.dead <- death:
				case <-s.over:
					return
				}
			}
		}()
	})
}

// stop ends everything, the last started first. It kills: what they hold is thrown away
// with the run, and whoever waits for its end does not wait for theirs.
func (s *supervisor) stop() {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return
	}
	s.stopping = true
	processes := slices.Clone(s.processes)
	s.mu.Unlock()
	for _, p := range slices.Backward(processes) {
		_ = p.cmd.Process.Kill() // gone already is as good
	}
	for _, p := range processes {
		<-p.done
	}
	close(s.spawn)
	close(s.over)
	s.mu.Lock()
	s.processes = nil
	s.mu.Unlock()
}

// restart kills a program and starts it again as it was.
func (s *supervisor) restart(name string) error {
	s.mu.Lock()
	i := slices.IndexFunc(s.processes, func(p *process) bool { return p.name == name })
	if i < 0 {
		s.mu.Unlock()
		return fmt.Errorf("%s does not run", name)
	}
	old := s.processes[i]
	old.replaced = true
	s.processes = slices.Delete(s.processes, i, i+1)
	s.mu.Unlock()
	_ = old.cmd.Process.Kill() // gone already is as good
	<-old.done
	return s.start(old.processSpec)
}

func (s *supervisor) logFile(name string) string { return filepath.Join(s.logs, name+".log") }

// tail is the end of a process's log.
func (s *supervisor) tail(name string) string {
	const lines, most = 12, 16 << 10
	f, err := os.Open(s.logFile(name))
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	content, _ := io.ReadAll(f)
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = "  " + string(l)
	}
	return strings.Join(out, "\n")
}
