package systemstat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// cgroup is a folder of a control group.
type cgroup struct {
	folder string
	old    bool // of version 1
}

// openCgroup says whether a folder is one of a cgroup whose processors are accounted for.
func openCgroup(folder string) (*cgroup, error) {
	c := &cgroup{folder: folder}
	_, err := os.Stat(filepath.Join(folder, "cpu.stat"))
	if _, old := os.Stat(filepath.Join(folder, "cpuacct.usage")); old == nil {
		c.old, err = true, nil // cpu.stat is there too, with other contents
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no cgroup with the controller cpu: it has neither cpu.stat nor cpuacct.usage", folder)
		}
		return nil, err
	}
	if _, err := c.used(); err != nil {
		return nil, err
	}
	_, err = c.processors()
	return c, err
}

// used is the time that the cgroup's processes have run.
func (c *cgroup) used() (time.Duration, error) {
	if c.old {
		ns, err := readNumber(filepath.Join(c.folder, "cpuacct.usage"))
		return time.Duration(ns), err
	}
	name := filepath.Join(c.folder, "cpu.stat")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "usage_usec "); found {
			us, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || us < 0 {
				return 0, fmt.Errorf("%s: usage_usec is %.40q", name, strings.TrimSpace(value))
			}
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, fmt.Errorf("%s has no usage_usec", name)
}

// processors is how many processors the cgroup may keep busy: the least that it and the cgroups around
// it, as far as they can be seen, are given, and all there are if none is given any.
func (c *cgroup) processors() (float64, error) {
	least := float64(runtime.NumCPU())
	for folder := c.folder; ; folder = filepath.Dir(folder) {
		n, err := c.quota(folder)
		if errors.Is(err, fs.ErrNotExist) { // the root has none
			return least, nil
		}
		if err != nil {
			return 0, err
		}
		if n > 0 {
			least = min(least, n)
		}
		if folder == filepath.Dir(folder) {
			return least, nil
		}
	}
}

// quota is how many processors one cgroup is given; 0: as many as there are.
func (c *cgroup) quota(folder string) (float64, error) {
	if c.old {
		quota, err := readNumber(filepath.Join(folder, "cpu.cfs_quota_us"))
		if err != nil || quota < 0 {
			return 0, err
		}
		period, err := readNumber(filepath.Join(folder, "cpu.cfs_period_us"))
		if err != nil {
			return 0, err
		}
		return share(filepath.Join(folder, "cpu.cfs_period_us"), quota, period)
	}
	name := filepath.Join(folder, "cpu.max")
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	quota, period, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if quota == "max" {
		return 0, nil
	}
	q, err := strconv.ParseInt(quota, 10, 64)
	p, err2 := strconv.ParseInt(period, 10, 64)
	if err != nil || err2 != nil {
		return 0, fmt.Errorf("%s is %.40q", name, text)
	}
	return share(name, q, p)
}

func share(name string, quota, period int64) (float64, error) {
	if quota <= 0 || period <= 0 {
		return 0, fmt.Errorf("%s: %d in %d microseconds", name, quota, period)
	}
	return float64(quota) / float64(period), nil
}

func readNumber(name string) (int64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s is %.40q, no number", name, text)
	}
	return n, nil
}
