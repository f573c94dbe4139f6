package ruleswatch_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
	"github.com/sidecard/sidecard/internal/testkit/sourcetest"
	"github.com/sidecard/sidecard/pkg/ruleswatch"
)

func source(path string) ruleswatch.Source {
	return ruleswatch.FileSource{Path: path, Debounce: 5 * time.Millisecond, Poll: 24 * time.Hour}
}

// Not parallel: see sourcetest.Run.
func TestFileSourceContract(t *testing.T) {
	for name, subject := range map[string]func(t *testing.T) sourcetest.Subject{
		"directory":             directory,
		"file":                  singleFile,
		"mounted ConfigMap":     volume,
		"file of a ConfigMap":   fileOfVolume,
		"directory, polled":     polled,
		"link to the directory": linkedDirectory,
	} {
		t.Run(name, func(t *testing.T) { sourcetest.Run(t, subject) })
	}
}

func directory(t *testing.T) sourcetest.Subject {
	dir := filepath.Join(t.TempDir(), "rules")
	return sourcetest.Subject{
		Source: source(dir),
		Put: func(t *testing.T, files map[string]string) {
			check(t, os.MkdirAll(dir, 0o755))
			for name, data := range files {
				write(t, filepath.Join(dir, name), data)
			}
			entries, err := os.ReadDir(dir)
			check(t, err)
			for _, e := range entries {
				if _, keep := files[e.Name()]; !keep {
					check(t, os.Remove(filepath.Join(dir, e.Name())))
				}
			}
		},
		Spoil: func(t *testing.T) { check(t, os.Truncate(filepath.Join(dir, sourcetest.First), 0)) },
		Lose:  func(t *testing.T) { check(t, os.RemoveAll(dir)) },
	}
}

// polled is a directory whose changes only polling finds.
func polled(t *testing.T) sourcetest.Subject {
	s := directory(t)
	s.Source = ruleswatch.WithoutNotifications(ruleswatch.FileSource{
		Path:     s.Source.(ruleswatch.FileSource).Path,
		Debounce: 5 * time.Millisecond,
		Poll:     5 * time.Millisecond,
	})
	return s
}

func singleFile(t *testing.T) sourcetest.Subject {
	path := filepath.Join(t.TempDir(), sourcetest.First)
	return sourcetest.Subject{
		Source: source(path),
		Put:    func(t *testing.T, files map[string]string) { write(t, path, files[sourcetest.First]) },
		Spoil:  func(t *testing.T) { write(t, path, "null\n") },
		Lose:   func(t *testing.T) { check(t, os.Remove(path)) },
		Single: true,
	}
}

func volume(t *testing.T) sourcetest.Subject {
	dir := filepath.Join(t.TempDir(), "volume")
	return sourcetest.Subject{
		Source: source(dir),
		Put: func(t *testing.T, files map[string]string) {
			check(t, configmap.Write(dir, bytesOf(files)))
		},
		Spoil: func(t *testing.T) {
			check(t, configmap.Write(dir, map[string][]byte{sourcetest.First: nil, "ok.yaml": []byte("[]")}))
		},
		Lose: func(t *testing.T) { check(t, os.RemoveAll(dir)) },
	}
}

func fileOfVolume(t *testing.T) sourcetest.Subject {
	s := volume(t)
	s.Source = source(filepath.Join(s.Source.(ruleswatch.FileSource).Path, sourcetest.First))
	s.Single = true
	return s
}

// linkedDirectory keeps each content in a directory of its own and points a link to it.
func linkedDirectory(t *testing.T) sourcetest.Subject {
	parent := t.TempDir()
	link := filepath.Join(parent, "current")
	point := func(t *testing.T, files map[string]string) {
		version, err := os.MkdirTemp(parent, "v")
		check(t, err)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			write(t, filepath.Join(version, name), files[name])
		}
		check(t, os.Symlink(version, link+".new"))
		check(t, os.Rename(link+".new", link))
	}
	return sourcetest.Subject{
		Source: source(link),
		Put:    point,
		Spoil:  func(t *testing.T) { point(t, map[string]string{"README.md": "no rules here"}) },
		Lose:   func(t *testing.T) { check(t, os.Remove(link)) },
	}
}

// write replaces a file at once.
func write(t *testing.T, path, data string) {
	t.Helper()
	check(t, os.WriteFile(path+".tmp", []byte(data), 0o644))
	check(t, os.Rename(path+".tmp", path))
}

func bytesOf(files map[string]string) map[string][]byte {
	m := make(map[string][]byte, len(files))
	for name, data := range files {
		m[name] = []byte(data)
	}
	return m
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
