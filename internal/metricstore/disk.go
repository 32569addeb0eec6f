package metricstore

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"sightline/internal/health"
	"sightline/internal/model"
)

// diskState is what the disk watch knows. full gates every append; torn says
// that a write to the log failed and the generation must be replaced before
// writes may resume.
type diskState struct {
	full atomic.Bool
	torn atomic.Bool
	free atomic.Uint64
}

// leastFree is what opening the store again needs: it rewrites the last
// segment of the log and begins files of its own.
const leastFree = 1 << 20

func statfs(dir string) (free, total uint64, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), nil
}

// watchDisk runs until Close.
func (s *Store) watchDisk() {
	defer s.done.Done()
	tick := time.NewTicker(s.interval)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case now := <-tick.C:
			s.rate.observe(now, s.appended.Load())
			s.watchDiskOnce()
		}
	}
}

// watchDiskOnce compares the free space with the reserve and opens or closes
// the gate for writes. It opens it only at twice the reserve, so that it does
// not flap, and only after a torn log was repaired by opening the store again.
func (s *Store) watchDiskOnce() {
	free, total, err := s.statfs(s.cfg.Dir)
	if err != nil {
		s.log.Warn("cannot tell the free space", "dir", s.cfg.Dir, "err", err)
		return
	}
	s.disk.free.Store(free)
	reserve := min(s.cfg.DiskReserve, total/20)
	switch full := s.disk.full.Load(); {
	case !full && free < reserve:
		s.disk.full.Store(true)
		s.setDiskFull(free)
	case full && free >= max(2*reserve, leastFree):
		if s.disk.torn.Load() {
			if err := s.reopen(); err != nil {
				s.log.Error("cannot open the store again", "dir", s.cfg.Dir, "err", err)
				s.setDiskFull(free)
				return
			}
			s.disk.torn.Store(false)
		}
		s.disk.full.Store(false)
		s.health.Clear("disk_full", s.cfg.Dir)
		s.setReady()
	case full:
		s.setDiskFull(free)
	}
}

func (s *Store) setDiskFull(free uint64) {
	p := s.diskFullProblem(nil)
	s.health.Set(health.Condition{
		Code: p.Code, Severity: health.Error, Subject: s.cfg.Dir,
		Text: fmt.Sprintf("%s (%d MiB free)", p.Text, free>>20), Hint: p.Hint,
	})
	s.setReady()
}

func (s *Store) diskFullProblem(err error) *model.Problem {
	return &model.Problem{
		Code: "disk_full", Err: err,
		Text: fmt.Sprintf("the file system of the data directory %s is full, so new samples are refused; stored ones are still served", s.cfg.Dir),
		Hint: "free some space, shorten the retention, or choose another directory with --data; writing resumes by itself",
	}
}

// tearLog is called when a write to the log failed. A record that was written
// in part makes all that follows it unreadable at the next replay, so nothing
// may follow until the store was opened again.
func (s *Store) tearLog(err error) {
	s.metrics.torn.Inc()
	if s.disk.torn.Swap(true) {
		return
	}
	s.disk.full.Store(true)
	s.log.Error("cannot write the log", "dir", s.cfg.Dir, "err", err)
	s.setDiskFull(s.disk.free.Load())
}
