package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one server under test on a free loopback port.
type process struct {
	cmd  *exec.Cmd
	addr string
	dir  string
	log  *os.File
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// start runs bin with args; {addr} and {dir} are replaced. It returns when
// readyPath answers 200, and how long that took.
func start(bin, readyPath string, args ...string) (*process, time.Duration, error) {
	addr, err := freePort()
	if err != nil {
		return nil, 0, err
	}
	dir, err := os.MkdirTemp("", "budget-")
	if err != nil {
		return nil, 0, err
	}
	log, err := os.CreateTemp("", "budget-*.log")
	if err != nil {
		return nil, 0, err
	}
	for i, a := range args {
		args[i] = strings.NewReplacer("{addr}", addr, "{dir}", dir).Replace(a)
	}
	p := &process{cmd: exec.Command(bin, args...), addr: addr, dir: dir, log: log}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	begin := time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, 0, err
	}
	for time.Since(begin) < 30*time.Second {
		if res, err := http.Get("http://" + addr + readyPath); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return p, time.Since(begin), nil
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	p.stop()
	b, _ := os.ReadFile(log.Name())
	return nil, 0, fmt.Errorf("%s was not ready within 30 s; it said: %s", bin, b)
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
	}
	os.RemoveAll(p.dir)
	p.log.Close()
	os.Remove(p.log.Name())
}

// rssBytes reads the resident set from /proc.
func (p *process) rssBytes() (float64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if v, ok := strings.CutPrefix(s.Text(), "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(v)[0], 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("no VmRSS of process %d", p.cmd.Process.Pid)
}

// cpuSeconds is user plus system time so far.
func (p *process) cpuSeconds() (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+2:]))
	u, err := strconv.ParseFloat(f[11], 64)
	if err != nil {
		return 0, err
	}
	s, err := strconv.ParseFloat(f[12], 64)
	return (u + s) / 100, err // USER_HZ is 100 on Linux
}

func post(url string, body io.Reader, header map[string]string) error {
	req, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		return err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		b, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return fmt.Errorf("%s answered %s: %s", url, res.Status, b)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}
