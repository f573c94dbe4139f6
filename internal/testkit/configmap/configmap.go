// Package configmap writes a directory the way the kubelet writes the volume of a ConfigMap, so that
// tests and the demo see what a pod sees: the same layout, the same steps, the same moments in between.
package configmap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The steps of a write after which something has changed on disk.
const (
	StepMakeVersion   = 5  // the version's directory exists, empty
	StepWriteFiles    = 6  // its files are written
	StepPermissions   = 7  // modes of the whole volume are set
	StepLinkTemporary = 8  // ..data_tmp points to the new version
	StepSwap          = 9  // ..data points to it: the new content is what a reader finds
	StepLinkNames     = 10 // new names are linked at the top
	StepUnlinkNames   = 11 // removed names are gone from the top
	StepRemoveOld     = 12 // the old version is removed
)

const (
	dataLink = "..data"
	dataTemp = "..data_tmp"
)

// Write makes files the whole content of the volume at dir, which is created if it is missing. Names are
// slash separated and relative. As in a cluster, readers see all of it at once, an unchanged content
// leaves the directory as it is, and one writer at a time is assumed.
func Write(dir string, files map[string][]byte) error {
	return WriteStepwise(dir, files, func(int) {})
}

// WriteStepwise is Write with a look between the steps: after is called with the number of each step
// that has been done. The numbers are those of the kubelet's atomic writer.
func WriteStepwise(dir string, files map[string][]byte, after func(step int)) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name := range files { // step 1
		if err := validate(name); err != nil {
			return err
		}
	}
	old, err := os.Readlink(filepath.Join(dir, dataLink)) // step 2
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var removed []string
	if old != "" {
		var changed bool
		if removed, changed, err = compare(filepath.Join(dir, old), files); err != nil { // steps 3 and 4
			return err
		}
		if !changed {
			return linkNames(dir, files)
		}
	}
	version, err := makeVersion(dir, files, after) // steps 5 to 7
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, dataTemp)
	if err := os.Symlink(filepath.Base(version), temp); err != nil {
		return err
	}
	after(StepLinkTemporary)
	if err := os.Rename(temp, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	after(StepSwap)
	if err := linkNames(dir, files); err != nil {
		return err
	}
	after(StepLinkNames)
	for _, name := range removed {
		if strings.Contains(name, "/") {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	after(StepUnlinkNames)
	if old != "" {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			return err
		}
		after(StepRemoveOld)
	}
	return nil
}

func validate(name string) error {
	if !filepath.IsLocal(name) || strings.HasPrefix(name, "..") || len(name) > 4096 {
		return fmt.Errorf("%q is no name for a file of a volume", name)
	}
	for element := range strings.SplitSeq(name, "/") {
		if element == ".." || len(element) > 255 {
			return fmt.Errorf("%q is no name for a file of a volume", name)
		}
	}
	return nil
}

// compare returns what the old version holds and files do not, parents included, and whether anything
// differs.
func compare(old string, files map[string][]byte) (removed []string, changed bool, err error) {
	keep := make(map[string]bool)
	for name, data := range files {
		for p := name; p != "."; p = filepath.Dir(p) {
			keep[p] = true
		}
		was, err := os.ReadFile(filepath.Join(old, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
		if err != nil || !bytes.Equal(was, data) {
			changed = true
		}
	}
	err = filepath.WalkDir(old, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == old {
			return err
		}
		name, err := filepath.Rel(old, path)
		if err == nil && !keep[name] {
			removed = append(removed, name)
		}
		return err
	})
	return removed, changed || len(removed) > 0, err
}

func makeVersion(dir string, files map[string][]byte, after func(step int)) (string, error) {
	version, err := os.MkdirTemp(dir, time.Now().UTC().Format("..2006_01_02_15_04_05."))
	if err != nil {
		return "", err
	}
	if err := os.Chmod(version, 0o755); err != nil {
		return "", err
	}
	after(StepMakeVersion)
	for name, data := range files {
		path := filepath.Join(version, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return "", err
		}
		if err := os.Chmod(path, 0o644); err != nil {
			return "", err
		}
	}
	after(StepWriteFiles)
	if err := setPermissions(dir); err != nil {
		return "", err
	}
	after(StepPermissions)
	return version, nil
}

// setPermissions does what the kubelet does for an fsGroup: it touches every file and directory of the
// volume, old versions included.
func setPermissions(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}
		if err := os.Lchown(path, -1, os.Getgid()); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o440
		if e.IsDir() {
			mode |= 0o110 | fs.ModeSetgid
		}
		return os.Chmod(path, mode)
	})
}

// linkNames shows every top-level name at the top of the volume.
func linkNames(dir string, files map[string][]byte) error {
	for name := range files {
		top, _, _ := strings.Cut(name, "/")
		_, err := os.Readlink(filepath.Join(dir, top))
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Symlink(filepath.Join(dataLink, top), filepath.Join(dir, top))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
