package ruleswatch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sidecard/sidecard/internal/testkit/configmap"
)

func TestMountedAlone(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // the table holds real paths
	must(t, err)
	file := func(name string) {
		t.Helper()
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		put(t, filepath.Join(dir, name), "- a\n")
	}
	file("rules/a.yaml")
	file("rules/b.yaml")
	file("rules/README.md")
	file("with blank/a.yaml")
	file("a.yaml")
	must(t, configmap.Write(filepath.Join(dir, "volume"), map[string][]byte{"a.yaml": []byte("- a\n")}))
	must(t, os.Symlink("rules", filepath.Join(dir, "link")))
	must(t, os.Symlink("rules/a.yaml", filepath.Join(dir, "link.yaml")))

	const (
		rootMount = `21 1 8:1 / / rw - ext4 /dev/sda1 rw`
		subPath   = `/var/lib/kubelet/pods/u/volumes/kubernetes.io~configmap/r/..2026_11_29_20_47_27.2559617023/x`
	)
	for name, tt := range map[string]struct {
		mounts []string // root and mount point, the latter below dir
		path   string
		want   []string
	}{
		"no mount":                           {path: "rules"},
		"a mounted directory":                {mounts: []string{"/vol", "rules"}, path: "rules"},
		"a mounted volume":                   {mounts: []string{"/", "volume"}, path: "volume"},
		"a file of a mounted volume":         {mounts: []string{"/", "volume"}, path: "volume/a.yaml"},
		"the path is a mounted file":         {mounts: []string{subPath, "a.yaml"}, path: "a.yaml", want: []string{"a.yaml"}},
		"whatever file it was":               {mounts: []string{"/home/me/rules.yaml", "a.yaml"}, path: "a.yaml", want: []string{"a.yaml"}},
		"replaced at its origin since":       {mounts: []string{subPath + "//deleted", "a.yaml"}, path: "a.yaml", want: []string{"a.yaml"}},
		"a mounted file of a directory":      {mounts: []string{"/vol", "rules", subPath, "rules/b.yaml"}, path: "rules", want: []string{"rules/b.yaml"}},
		"all mounted files of a directory":   {mounts: []string{subPath, "rules/b.yaml", subPath, "rules/a.yaml"}, path: "rules", want: []string{"rules/a.yaml", "rules/b.yaml"}},
		"a mounted file that holds no rules": {mounts: []string{subPath, "rules/README.md"}, path: "rules"},
		"beside it":                          {mounts: []string{subPath, "rules/b.yaml"}, path: "rules/a.yaml"},
		"a version of a volume":              {mounts: []string{subPath, "rules"}, path: "rules", want: []string{"rules"}},
		"a file in a version of a volume":    {mounts: []string{subPath, "rules"}, path: "rules/a.yaml", want: []string{"rules/a.yaml"}},
		"a volume over one of its versions":  {mounts: []string{subPath, "rules", "/vol", "rules"}, path: "rules"},
		"dots that are no version":           {mounts: []string{"/..hidden/x", "rules"}, path: "rules"},
		"through a link to the directory":    {mounts: []string{subPath, "rules/a.yaml"}, path: "link", want: []string{"link/a.yaml"}},
		"through a link to the file":         {mounts: []string{subPath, "rules/a.yaml"}, path: "link.yaml", want: []string{"link.yaml"}},
		"a name like the mount point's":      {mounts: []string{subPath, "rul"}, path: "rules"},
		"a blank in the name":                {mounts: []string{subPath, "with blank/a.yaml"}, path: "with blank", want: []string{"with blank/a.yaml"}},
		"a path that is not there":           {mounts: []string{subPath, "gone"}, path: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table := rootMount + "\n"
			for i := 0; i < len(tt.mounts); i += 2 {
				point := strings.ReplaceAll(filepath.Join(dir, tt.mounts[i+1]), " ", `\040`)
				table += fmt.Sprintf("%d 21 8:2 %s %s rw,relatime shared:3 - ext4 /dev/sda2 rw\n", 30+i, tt.mounts[i], point)
			}
			var want []string
			for _, name := range tt.want {
				want = append(want, filepath.Join(dir, name))
			}
			if got := mountedAlone(filepath.Join(dir, tt.path), []byte(table)); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q, of\n%s", got, want, table)
			}
		})
	}
}

func TestUnescapeMounts(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]string{
		`/a`: "/a", `/a\040b\134\011`: "/a b\\\t", `\`: `\`, `/a\04`: `/a\04`, `/a\999`: `/a\999`, `/\400`: `/\400`, "": "",
	} {
		if got := unescape(field); got != want {
			t.Errorf("%q: got %q, want %q", field, got, want)
		}
	}
	// What the kernel does not write is no reason to fail either.
	if got := parseMounts([]byte("\n1 2 3\nx y z / /p")); len(got) != 1 || got[0].point != "/p" {
		t.Errorf("got %+v", got)
	}
}
