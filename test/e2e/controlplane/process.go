package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run as a child of the test binary.
type Command struct {
	Name string   // names the log file and the process in messages
	Path string   // the program's file
	Args []string // without the program's name
	Env  []string // added to a nearly empty environment
	Dir  string   // log folder; HOME as well, so that no file of the user's is read
	// Hostname, if set, puts the program into a UTS namespace of its own; kube takes the name from its environment.
	Hostname string
}

// Process is a running child. It dies with the test binary.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error // valid after done is closed
}

// Run starts the program. Its output is appended to <Dir>/<Name>.log.
func Run(c Command) (*Process, error) {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	logFile := filepath.Join(c.Dir, c.Name+".log")
	out, err := os.OpenFile(logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	defer out.Close()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append([]string{"HOME=" + c.Dir, "PATH=" + os.Getenv("PATH")}, c.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if c.Hostname != "" {
		ownHostname(cmd, c.Hostname)
	}
	if err := startOnLauncher(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, log: logFile, cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// ownHostname gives the child a UTS namespace; without root that takes a user namespace too.
func ownHostname(cmd *exec.Cmd, name string) {
	cmd.Env = append(cmd.Env, "MUSTER_E2E_HOSTNAME="+name)
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUTS
	if uid := os.Getuid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
}

// Name is the process's name in messages.
func (p *Process) Name() string { return p.name }

// Exited is closed when the process has ended, for whatever reason.
func (p *Process) Exited() <-chan struct{} { return p.done }

// Running says whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Kill ends the process as a power cut would and waits until it is gone. Killing it twice is no error.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Stop asks the process to end, waits as long as grace, then kills it.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// Pause freezes the process: it keeps its sockets and its memory and does nothing.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume wakes a paused process.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// signal reaches the whole process group, so that nothing the child started stays behind.
func (p *Process) signal(s syscall.Signal) {
	if p.Running() {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Log is everything the process wrote so far, over all its restarts under this name.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Failure describes an end that was not asked for, with the last lines of the log.
func (p *Process) Failure() error {
	lines := strings.Split(string(bytes.TrimSpace([]byte(p.Log()))), "\n")
	tail := lines[max(0, len(lines)-15):]
	return errors.Join(p.err, fmt.Errorf("%s ended; the last lines of %s:\n%s", p.name, p.log, strings.Join(tail, "\n")))
}

// CPU is how much processor time the process has used so far, in user and kernel mode; 0 when it is gone.
func (p *Process) CPU() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	// The second field is the command's name in parentheses; fields 14 and 15 are ticks of 10 ms (proc(5)).
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// Memory is what the process has resident now and had at most, in bytes; zeros when it is gone.
func (p *Process) Memory() (now, most int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0
	}
	read := func(field string) int64 { // a name, a number and kB in each line (proc_pid_status(5))
		_, rest, _ := strings.Cut(string(text), field+":")
		n, _ := strconv.ParseInt(strings.Fields(rest + " 0")[0], 10, 64)
		return n * 1024
	}
	return read("VmRSS"), read("VmHWM")
}
