//go:build e2e && linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonpb "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlspb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/sidecard/sidecard/internal/testkit/envoytest"
)

// Connections take all descriptors that there are. Envoy's, which is open, goes on; the rules that change
// meanwhile cannot be read, and are as soon as there is room, though they change no more.
func fullDescriptors(t *testing.T) row {
	o := options(t)
	o.Wrap = []string{"sh", "-c", `ulimit -n 48 && exec "$@"`, "sh"}
	w := begin(t, o)
	for n := range rounds() {
		var held []net.Conn
		for range 200 {
			c, err := net.Dial("unix", w.Socket)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, c)
		}
		w.poll("the daemon to be out of descriptors", func(context.Context) (bool, error) {
			open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", w.Sidecard.PID()))
			return len(open) >= 48, err
		})
		next := fmt.Sprintf("next-%d", n)
		put(t, o.Rules, ruleSet(fmt.Sprintf(`{"id": %q, "resource": "images", "count": 0}`, next)))
		w.pause(2 * time.Second)
		for _, c := range held {
			c.Close()
		}
		w.poll("the new rules to be in force", func(ctx context.Context) (bool, error) {
			r, err := w.get(ctx, "/images")
			return r.Limited() && r.Rule == next, err
		})
		w.untilAtLeast(float64(n+1), reloads("error")...)
	}
	return w.finish()
}

// The memory that a flooded daemon may have.
const (
	softMemory = 24 << 20 // GOMEMLIMIT, which it reaches
	hardMemory = 64 << 20 // of its control group: above that the kernel kills it
	mostKeys   = 50_000
)

// Many times more values come than there is room for, while the kernel kills what takes more memory than it
// may. What has a place keeps it, and what has none is counted together.
func keyFlood(t *testing.T) row {
	o := options(t)
	config := filepath.Join(o.Dir, "config.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "limits: {maxKeysTotal: %d}\n", mostKeys), 0o644); err != nil {
		t.Fatal(err)
	}
	o.Args = []string{"--config", config}
	join := ""
	if group, err := memoryGroup(t, hardMemory); err == nil {
		join = fmt.Sprintf("echo $$ >%s/cgroup.procs && ", group)
	} else {
		t.Logf("no control group, GOMEMLIMIT only: %v", err)
	}
	o.Wrap = []string{"sh", "-c", fmt.Sprintf(`%sexport GOMEMLIMIT=%d && exec "$@"`, join, softMemory), "sh"}
	w := begin(t, o)

	calls := 40_000
	if testing.Short() {
		calls = 4000
	}
	conn, err := grpc.NewClient("unix:"+w.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	w.must(err)
	defer conn.Close()
	client, key := rlspb.NewRateLimitServiceClient(conn), 0
	for range calls {
		r := &rlspb.RateLimitRequest{Domain: "sidecard"}
		for range 64 {
			r.Descriptors = append(r.Descriptors, &commonpb.RateLimitDescriptor{Entries: []*commonpb.RateLimitDescriptor_Entry{
				{Key: "resource", Value: "cart"}, {Key: "cookie", Value: fmt.Sprint("session=flood-", key)},
			}})
			key++
		}
		if _, err := client.ShouldRateLimit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	held, err := w.sample(soon(t), "sidecard_keys_all_rules")
	w.must(err)
	over, err := w.sample(soon(t), "sidecard_key_overflow_total", `rule="session"`)
	w.must(err)
	if held > mostKeys || over == 0 {
		t.Errorf("%d values came: %v have a place, of %d; %v have none", key, held, mostKeys, over)
	}
	total, err := w.sample(soon(t), "go_memstats_sys_bytes")
	w.must(err)
	released, err := w.sample(soon(t), "go_memstats_heap_released_bytes")
	w.must(err)
	t.Logf("%d values came, %v have a place, %v requests had none; the runtime holds %.1f MiB of %d", key, held, over, (total-released)/(1<<20), softMemory>>20)
	w.notePeak()
	if w.peak > hardMemory {
		t.Errorf("%.1f MiB were resident, the bound is %d", w.peak/(1<<20), hardMemory>>20)
	}
	conn.Close()
	return w.finish()
}

// memoryGroup makes a control group with a bound on memory, in whichever hierarchy there is.
func memoryGroup(t *testing.T, most int) (string, error) {
	t.Helper()
	var errs []string
	for _, kind := range []struct{ root, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		dir, err := os.MkdirTemp(kind.root, "sidecard-chaos-")
		if err != nil {
			errs = append(errs, err.Error())
			continue
		}
		// Registered before the daemon is started, hence done after it has ended.
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
			defer cancel()
			if err := envoytest.Poll(ctx, "the control group to be empty", func(context.Context) (bool, error) {
				err := os.Remove(dir)
				return err == nil, err
			}); err != nil {
				t.Error(err)
			}
		})
		bound, err := os.OpenFile(filepath.Join(dir, kind.file), os.O_WRONLY, 0) // a file that is not there is not made
		if err == nil {
			_, err = fmt.Fprint(bound, most)
			err = errors.Join(err, bound.Close())
		}
		if err == nil {
			return dir, nil
		}
		errs = append(errs, err.Error())
	}
	return "", errors.New(strings.Join(errs, "; "))
}
