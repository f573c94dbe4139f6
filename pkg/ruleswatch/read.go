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
// directory whose name does not start with a dot, in the order of their names. All files of a
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
			if d.Files, d.Err = readDir(path); !errors.Is(d.Err, errChanged) {
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
func readDir(path string) ([]rule.File, error) {
	v, err := currentVersion(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	files, err := readVersion(path, v)
	if now, nerr := currentVersion(path); nerr != nil || now != v {
		return nil, fmt.Errorf("%s: %w", path, errChanged)
	}
	return files, err
}

func readVersion(path string, v version) ([]rule.File, error) {
	locations := make(map[string]string) // by name
	err := list(v.dir, func(e fs.DirEntry) {
		if v.data == "" || !linksIntoVersion(v.dir, e) {
			locations[e.Name()] = filepath.Join(v.dir, e.Name())
		}
	})
	if err != nil {
		return nil, pathError(path, err)
	}
	if v.data != "" {
		err := list(v.data, func(e fs.DirEntry) { locations[e.Name()] = filepath.Join(v.data, e.Name()) })
		if err != nil {
			return nil, pathError(filepath.Join(path, dataLink), err)
		}
	}
	switch {
	case len(locations) == 0:
		return nil, fmt.Errorf("%s: holds no rule file (*.json, *.yaml or *.yml)", path)
	case len(locations) > maxFiles:
		return nil, fmt.Errorf("%s: holds more than %d rule files", path, maxFiles)
	}
	return readAll(path, locations)
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

// list calls visit for each rule file of a directory. It reads on in pieces, so that a huge directory
// costs no memory.
func list(dir string, visit func(fs.DirEntry)) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for seen := 0; seen <= maxFiles; {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if isRuleFile(e.Name()) {
				visit(e)
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
	switch filepath.Ext(name) {
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
