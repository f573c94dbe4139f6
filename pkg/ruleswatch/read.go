package ruleswatch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sidecard/sidecard/pkg/rule"
)

const (
	// maxBytes bounds the rule files of one path together. A ConfigMap holds at most 1 MiB.
	maxBytes = 16 << 20
	// maxFiles bounds their number.
	maxFiles = 4096
	// attempts bounds how often a directory that changes while it is read is read again.
	attempts = 20

	// dataLink is the symbolic link that Kubernetes swaps to replace all files of a volume at once.
	dataLink = "..data"
)

// errChanged says that a directory changed while it was read.
var errChanged = errors.New("keeps changing while it is read")

// Read returns the rules at a path as they are now: a file, or every *.json, *.yaml and *.yml of a
// directory (also in upper case) whose name does not start with a dot, in the order of their names. All files of a
// Kubernetes volume come from one version of it. Err holds every reason for which the content must not
// be applied. Read never blocks on what is not a regular file and reads at most 16 MiB.
func Read(path string) Document {
	d := Document{Source: path}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		d.Err = pathError(path, err)
	case info.IsDir():
		for range attempts {
			if d.Files, d.Skipped, d.Err = readDir(path); !errors.Is(d.Err, errChanged) {
				break
			}
		}
	default:
		var f rule.File
		if f, err = readFile(path, path, maxBytes); err != nil {
			d.Err = err
			break
		}
		d.Files, d.Err = []rule.File{f}, nothing(f)
	}
	return d
}

// version is where a directory's files are at one moment: the real path of the directory, and what the
// data link of a volume points to ("" if it is none).
type version struct{ dir, data string }

func currentVersion(path string) (version, error) {
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return version{}, err
	}
	data, err := os.Readlink(filepath.Join(dir, dataLink))
	switch {
	case err != nil:
		data = ""
	case !filepath.IsAbs(data):
		data = filepath.Join(dir, data)
	}
	return version{dir, data}, nil
}

// readDir reads a directory. All symbolic links that choose a version are resolved once, because files
// opened through them one after the other could come from two versions; and the version must still be
// the current one afterwards, because an old one may have been half removed when it was listed.
func readDir(path string) ([]rule.File, []string, error) {
	v, err := currentVersion(path)
	if err != nil {
		return nil, nil, pathError(path, err)
	}
	files, skipped, err := readVersion(path, v)
	if now, nerr := currentVersion(path); nerr != nil || now != v {
		return nil, nil, fmt.Errorf("%s: %w", path, errChanged)
	}
	return files, skipped, err
}

func readVersion(path string, v version) ([]rule.File, []string, error) {
	locations := make(map[string]string) // by name
	var others skipped
	visit := func(dir string, e fs.DirEntry) {
		if location := filepath.Join(dir, e.Name()); isRuleFile(e.Name()) {
			locations[e.Name()] = location
		} else {
			others.consider(e.Name(), location, e)
		}
	}
	err := listAll(v.dir, func(e fs.DirEntry) {
		if v.data == "" || !linksIntoVersion(v.dir, e) {
			visit(v.dir, e)
		}
	})
	if err != nil {
		return nil, nil, pathError(path, err)
	}
	if v.data != "" {
		if err := listAll(v.data, func(e fs.DirEntry) { visit(v.data, e) }); err != nil {
			return nil, nil, pathError(filepath.Join(path, dataLink), err)
		}
	}
	switch {
	case len(locations) == 0:
		return nil, others.below(path), fmt.Errorf("%s: holds no rule file (*.json, *.yaml or *.yml)", path)
	case len(locations) > maxFiles:
		return nil, nil, fmt.Errorf("%s: holds more than %d rule files", path, maxFiles)
	}
	files, err := readAll(path, locations)
	return files, others.below(path), err
}

// readAll reads files by the order of their names, and all of them in spite of errors, so that one look
// shows every error.
func readAll(path string, locations map[string]string) ([]rule.File, error) {
	names := make([]string, 0, len(locations))
	for name := range locations {
		names = append(names, name)
	}
	slices.Sort(names)
	var (
		files []rule.File
		errs  []error
		room  = maxBytes
	)
	for _, name := range names {
		f, err := readFile(filepath.Join(path, name), locations[name], room)
		if errors.Is(err, fs.ErrNotExist) {
			if _, lerr := os.Lstat(locations[name]); lerr != nil {
				return nil, fmt.Errorf("%s: %w", path, errChanged) // it was there when the directory was listed
			}
			err = fmt.Errorf("%s: a symbolic link to nothing", filepath.Join(path, name))
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := nothing(f); err != nil {
			errs = append(errs, err)
		}
		room -= len(f.Data)
		files = append(files, f)
	}
	return files, errors.Join(errs...)
}

// list calls visit for each rule file of a directory.
func list(dir string, visit func(fs.DirEntry)) error {
	return listAll(dir, func(e fs.DirEntry) {
		if isRuleFile(e.Name()) {
			visit(e)
		}
	})
}

// listAll calls visit for each entry of a directory, until there were more rule files than may be. It reads
// on in pieces, so that a huge directory costs no memory.
func listAll(dir string, visit func(fs.DirEntry)) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for seen := 0; seen <= maxFiles; {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			visit(e)
			if isRuleFile(e.Name()) {
				seen++
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isRuleFile(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return true
	}
	return false
}

// linksIntoVersion reports whether an entry of a volume is the link that shows a file of the current
// version. For a moment in each update such links are missing or dangle.
func linksIntoVersion(dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := os.Readlink(filepath.Join(dir, e.Name()))
	return err == nil && strings.HasPrefix(target, dataLink+"/")
}
