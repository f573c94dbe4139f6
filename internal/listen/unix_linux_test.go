package listen

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The way that kernels before 6.6 need changes the socket, and nothing else that lies at its name.
func TestChmodByProc(t *testing.T) {
	t.Parallel()
	a := sockAddr(t)
	mustListen(t, a, Options{})
	dir, err := os.Open(filepath.Dir(a.Path()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := chmodByProc(dir, "s.sock", 0o604); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(a.Path()); err != nil || info.Mode() != fs.ModeSocket|0o604 {
		t.Errorf("got %v, %v, want mode 0604", info.Mode(), err)
	}
	precious := filepath.Join(dir.Name(), "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("precious", filepath.Join(dir.Name(), "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "precious", "missing"} {
		if err := chmodByProc(dir, name, 0o666); err == nil {
			t.Errorf("%s: the mode of something other than a socket was changed", name)
		}
	}
	if info, err := os.Lstat(precious); err != nil || info.Mode() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600 as before", info.Mode(), err)
	}
}
