package gitsync

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

// runBeside runs a command, whose environment is set, next to git-sync until it ends, or for a
// little longer than a sync may take.
func (s *Supervisor) runBeside(ctx context.Context, command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// What it leaves behind can keep its output open.
	command.WaitDelay = endGrace
	s.mu.Lock()
	if s.format != "" {
		// The command may name another one, which counts.
		command.Env = append([]string{formatVariable + "=" + s.format}, command.Env...)
	}
	if err := command.Start(); err != nil {
		s.mu.Unlock()
		return fmt.Errorf("starting %s: %w", command.Path, err)
	}
	s.LimitMemory(ctx, command)
	pid := command.Process.Pid
	if s.beside == nil {
		s.beside, s.overfilled = map[int]bool{}, map[int]bool{}
	}
	s.beside[pid] = true
	s.mu.Unlock()

	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	var err error
	overdue := s.Clock.NewTimer(s.Timeout + overdueGrace)
	defer overdue.Stop()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(ctx.Err(), s.endBeside(pid, ended))
	case <-overdue.C():
		err = errors.Join(context.DeadlineExceeded, s.endBeside(pid, ended))
	}
	s.mu.Lock()
	if s.overfilled[pid] {
		err = errors.Join(errTooManyFiles, err)
	}
	delete(s.beside, pid)
	delete(s.overfilled, pid)
	s.mu.Unlock()
	s.endGroup(pid)
	return err
}

func (s *Supervisor) endBeside(group int, ended <-chan error) error {
	signalGroup(group, syscall.SIGTERM)
	select {
	case err := <-ended:
		return err
	case <-s.Clock.After(endGrace):
		signalGroup(group, syscall.SIGKILL)
		return <-ended
	}
}
