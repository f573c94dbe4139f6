//go:build e2e

package e2e

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is where the Dockerfile is built.
const repository = "../.."

// dockerfile is what the shipped Dockerfile says, as far as it matters without a registry.
type dockerfile struct {
	sources    []string // that the build stage copies from the repository
	build      string   // the command that makes the binary
	from, to   string   // where it leaves it, and where the image has it
	user       string
	entrypoint []string
	command    []string
	health     []string
}

func readDockerfile(t *testing.T) dockerfile {
	t.Helper()
	var d dockerfile
	for line := range strings.Lines(text(t, repository+"/Dockerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		fields := strings.Fields(rest)
		switch {
		case word == "COPY" && fields[0] == "--from=build":
			if d.to != "" {
				t.Fatal("the image has more than one file: these tests know of one")
			}
			d.from, d.to = fields[1], fields[2]
		case word == "COPY":
			d.sources = append(d.sources, fields[:len(fields)-1]...)
		case word == "RUN" && strings.Contains(rest, "go build"):
			d.build = rest
		case word == "USER":
			d.user = rest
		case word == "ENTRYPOINT":
			d.entrypoint = words(t, rest)
		case word == "CMD":
			d.command = words(t, rest)
		case word == "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, " CMD ")
			d.health = words(t, command)
		}
	}
	return d
}

// words reads the form of a command that needs no shell.
func words(t *testing.T, list string) (w []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(list), &w); err != nil {
		t.Fatalf("%q: %v; the image has no shell", list, err)
	}
	return w
}

// assemble makes the file system of the image, but for its base, in a directory: it runs the build on
// what the Dockerfile copies, and copies the result to where the image has it.
func (d dockerfile) assemble(t *testing.T, root string) {
	t.Helper()
	source := t.TempDir()
	admitted := strings.Split(text(t, repository+"/.dockerignore"), "\n")
	for _, name := range d.sources {
		if !slices.Contains(admitted, "!"+name) {
			t.Errorf("the Dockerfile copies %s, which .dockerignore keeps out", name)
		}
		copyTree(t, filepath.Join(repository, name), filepath.Join(source, name))
	}
	binary := filepath.Join(root, d.to)
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.Replace(d.build, "-o "+d.from, `-o "$OUT"`, 1))
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "OUT="+binary, "VERSION=v9.8.7")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", d.build, err, out)
	}
	wantStatic(t, binary)
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err == nil && info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else if err == nil {
		copyFile(t, from, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wantStatic fails the test if a program needs a loader or libraries, which the image has none of.
func wantStatic(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC }) {
		t.Errorf("%s is not static", program)
	}
}

// sandbox runs programs as a container of the image would: in the image's file system, read-only, with the
// pod's volumes in it, as the image's user, without capabilities.
type sandbox struct {
	root, run, rules string
}

// inSandbox mounts the volumes, makes the rest read-only and enters it. Whoever is not root is root of a
// user namespace first, and the image's user in a second.
const inSandbox = `
mount --bind "$ROOT" "$ROOT"
mount --bind "$RUN" "$ROOT/run/sidecard"
mount --bind "$RULES" "$ROOT/etc/sidecard/rules"
mount --rbind /proc "$ROOT/proc"
mount -o remount,bind,ro "$ROOT"
mount -o remount,bind,ro "$ROOT/etc/sidecard/rules"
for dir in "$ROOT" "$ROOT/etc/sidecard/rules"; do
	if touch "$dir/written" 2>/dev/null; then echo "$dir can be written" >&2; exit 125; fi
done
if [ "$OUTER" = 0 ]; then
	exec setpriv --no-new-privs chroot --userspec="$USERSPEC" --groups="${USERSPEC#*:}" "$ROOT" "$@"
fi
exec setpriv --no-new-privs unshare --user --map-user="${USERSPEC%:*}" --map-group="${USERSPEC#*:}" --root="$ROOT" -- "$@"
`

// newSandbox makes the directories. The test is skipped where no name space can be made.
func newSandbox(t *testing.T) sandbox {
	t.Helper()
	if out, err := exec.Command("unshare", namespaces("mount", "--bind", "/proc", "/proc")...).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here, not even in a name space: %v, %s", err, out)
	}
	dir := shortDir(t)
	s := sandbox{root: filepath.Join(dir, "root"), run: filepath.Join(dir, "run"), rules: filepath.Join(dir, "rules")}
	for _, d := range []string{s.run, s.rules, s.root + "/run/sidecard", s.root + "/etc/sidecard/rules", s.root + "/proc"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(s.run, 0o777|fs.ModeSetgid); err != nil { // as the kubelet makes an emptyDir
		t.Fatal(err)
	}
	return s
}

// namespaces are the arguments for unshare to run a program where it may mount.
func namespaces(program ...string) []string {
	args := []string{"--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		args = append(args, "--user", "--map-root-user")
	}
	return append(append(args, "--"), program...)
}

// command returns the program and arguments that run one of the image's, with the environment given as
// NAME=value.
func (s sandbox) command(d dockerfile, environment []string, args ...string) (program string, all []string) {
	env := append([]string{
		"-i", "PATH=" + os.Getenv("PATH"), "ROOT=" + s.root, "RUN=" + s.run, "RULES=" + s.rules, "USERSPEC=" + d.user,
	}, environment...)
	outer := "OUTER=1"
	if os.Getuid() == 0 {
		outer = "OUTER=0"
	}
	env = append(env, outer, "unshare")
	return "env", append(append(env, namespaces("sh", "-euc", inSandbox, "sh")...), args...)
}

// field returns a line of /proc/PID/status.
func field(t *testing.T, pid string, name string) string {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(text(t, "/proc/"+pid+"/status")))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	t.Fatalf("process %s has no %s", pid, name)
	return ""
}
