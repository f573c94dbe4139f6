package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/sidecard/sidecard/internal/testkit/certtest"
	"github.com/sidecard/sidecard/internal/testkit/configmap"
)

// lines is a log that a test may read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), text)
}

func filesIn(dir string) Files {
	return Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca.crt")}
}

// written returns a store of new files in a directory, which ca signed.
func written(t *testing.T, ca *certtest.CA) (s *Store, dir string, log *lines) {
	t.Helper()
	dir, log = t.TempDir(), new(lines)
	ca.Write(t, dir)
	s, err := Load(filesIn(dir), zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	return s, dir, log
}

// shake makes one handshake and returns the serial number of the server's certificate, and the error of
// the server, which says why it refused.
func shake(t *testing.T, server, client *tls.Config) (serial int64, err error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() {
		defer far.Close()
		conn := tls.Server(far, server)
		err := conn.Handshake()
		if err == nil {
			_, err = io.WriteString(conn, "ok")
		}
		refused <- err
	}()
	conn := tls.Client(near, client)
	// In TLS 1.3 a client learns with the first byte whether its certificate was taken.
	_, failure := io.ReadFull(conn, make([]byte, 2))
	near.Close()
	if err := <-refused; err != nil {
		return 0, err
	}
	if failure != nil {
		return 0, failure
	}
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), nil
}

func mustClient(t *testing.T, c Client) *tls.Config {
	t.Helper()
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// trusting returns the files of a client that ca signed, and that trusts ca.
func trusting(t *testing.T, ca *certtest.CA) Client {
	t.Helper()
	dir := t.TempDir()
	ca.Write(t, dir)
	f := filesIn(dir)
	return Client{CA: f.CA, Cert: f.Cert, Key: f.Key, Name: "localhost"}
}

func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t, "ours"), certtest.New(t, "theirs")
	s, dir, _ := written(t, ours)
	mutual := s.Server("h2")
	open, err := Load(Files{Cert: filesIn(dir).Cert, Key: filesIn(dir).Key}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	friend, stranger := trusting(t, ours), trusting(t, theirs)
	anonymous := Client{CA: friend.CA, Name: "localhost"}
	stranger.CA = friend.CA
	misled := friend
	misled.CA = trusting(t, theirs).CA
	elsewhere := friend
	elsewhere.Name = "example.org"
	for _, tc := range []struct {
		name   string
		server *tls.Config
		client Client
		want   string // in the error; empty: let in
	}{
		{"a client of ours", mutual, friend, ""},
		{"without a certificate", mutual, anonymous, "client didn't provide a certificate"},
		{"signed by another authority", mutual, stranger, "certificate signed by unknown authority"},
		{"no certificate asked for", open.Server("h2"), anonymous, ""},
		{"a certificate that is not asked for", open.Server("h2"), stranger, ""},
		{"the server's authority is not trusted", mutual, misled, "bad certificate"},
		{"the server has another name", mutual, elsewhere, "bad certificate"},
	} {
		client := mustClient(t, tc.client)
		// Whatever authorities the server names: hostile clients do not go by them.
		client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(client.Certificates) == 0 {
				return new(tls.Certificate), nil
			}
			return &client.Certificates[0], nil
		}
		_, err := shake(t, tc.server, client)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
	old := mustClient(t, friend)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := shake(t, mutual, old); err == nil || !strings.Contains(err.Error(), "version") {
		t.Errorf("TLS 1.1: got %v", err)
	}
	old.MaxVersion = tls.VersionTLS12
	if _, err := shake(t, mutual, old); err != nil {
		t.Errorf("TLS 1.2: got %v", err)
	}
}

// What is read later is used by handshakes from then on, and what is unusable is not.
func TestReload(t *testing.T) {
	t.Parallel()
	ours, theirs := certtest.New(t, "ours"), certtest.New(t, "theirs")
	s, dir, log := written(t, ours)
	server, friend := s.Server("h2"), trusting(t, ours)
	want := func(what string, serial int64, reloads, failures int64) {
		t.Helper()
		got, err := shake(t, server, mustClient(t, friend))
		if st := s.Status(); err != nil || got != serial || st.Reloads != reloads || st.Failures != failures {
			t.Errorf("%s: got certificate %d, %v, %+v; want %d, %d, %d", what, got, err, st, serial, reloads, failures)
		}
	}
	last := ""
	note := func() { last = s.note(last) }
	want("as loaded", 2, 0, 0)
	note()
	want("nothing has changed", 2, 0, 0)
	serial := ours.Write(t, dir)
	note()
	want("a new certificate", serial, 1, 0)

	f := filesIn(dir)
	good := s.current.Load().raw
	_, otherKey, _ := ours.Issue(t)
	for i, bad := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"the key of another", f.Key, otherKey, "private key does not match public key"},
		{"no PEM", f.Cert, []byte("hello"), "failed to find any PEM data"},
		{"an empty file", f.CA, nil, "no certificate in PEM"},
		{"too long", f.CA, make([]byte, maxFile+1), "longer than"},
	} {
		certtest.Put(t, bad.file, bad.content)
		note()
		note() // the same error is noted once
		want(bad.name, serial, 1, int64(i+1))
		if log.count(bad.want) != 1 || log.count("the one before it stays in use") != i+1 {
			t.Errorf("%s: not logged once with %q", bad.name, bad.want)
		}
		for j, name := range []string{f.Cert, f.Key, f.CA} {
			certtest.Put(t, name, good[j])
		}
		note()
		want("after "+bad.name, serial, 1, int64(i+1))
	}
	if err := os.Remove(f.Key); err != nil {
		t.Fatal(err)
	}
	note()
	want("without the key", serial, 1, 5)

	// New authorities count for those who come later.
	theirs.Write(t, dir)
	note()
	if _, err := shake(t, server, mustClient(t, friend)); err == nil {
		t.Error("a client of the authority that has gone was let in")
	}
	if _, err := shake(t, server, mustClient(t, trusting(t, theirs))); err != nil {
		t.Errorf("a client of the new authority: %v", err)
	}
}

// Readings wait until a change is over, are not put off for ever, and come by themselves.
func TestFollowSettles(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	s, dir, _ := written(t, ca)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		maybe, done := make(chan struct{}), make(chan struct{})
		go func() { s.follow(ctx, maybe); close(done) }()
		wait := func(d time.Duration, what string, reloads int64) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := s.Status().Reloads; got != reloads {
				t.Errorf("%s: %d reloads, want %d", what, got, reloads)
			}
		}
		ca.Write(t, dir)
		maybe <- struct{}{}
		wait(quiet-1, "it may go on", 0)
		maybe <- struct{}{}
		wait(quiet-1, "it went on", 0)
		wait(1, "it is quiet", 1)
		ca.Write(t, dir)
		for range restless / quiet {
			maybe <- struct{}{}
			wait(quiet-1, "it goes on", 1)
		}
		maybe <- struct{}{}
		wait(quiet-1, "it goes on for too long", 2)
		ca.Write(t, dir)
		wait(poll, "nobody gave a sign", 3)
		cancel()
		<-done
	})
}

// Files that are replaced as in a Kubernetes secret, or one after the other, are found by their directory.
func TestRunFindsChanges(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	dir, log := filepath.Join(t.TempDir(), "secret"), new(lines)
	put := func() (serial int64) {
		t.Helper()
		cert, key, serial := ca.Issue(t)
		if err := configmap.Write(dir, map[string][]byte{"tls.crt": cert, "tls.key": key, "ca.crt": ca.PEM()}); err != nil {
			t.Fatal(err)
		}
		return serial
	}
	put()
	s, err := Load(filesIn(dir), zerolog.New(log))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	want := put()
	deadline, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for {
		got, err := shake(t, s.Server("h2"), mustClient(t, trusting(t, ca)))
		if err != nil {
			t.Fatal(err)
		}
		if got == want {
			break
		}
		if deadline.Err() != nil {
			t.Fatalf("certificate %d is in use, want %d", got, want)
		}
	}
	if log.count("certificate reloaded") != 1 {
		t.Error("the reload is not logged once")
	}
}

func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t, "ca")
	dir := t.TempDir()
	ca.Write(t, dir)
	f := filesIn(dir)
	for _, tc := range []struct {
		name  string
		files Files
		want  string
	}{
		{"none", Files{Cert: filepath.Join(dir, "none"), Key: f.Key}, "no such file"},
		{"a directory", Files{Cert: dir, Key: f.Key}, "is not a file"},
		{"swapped", Files{Cert: f.Key, Key: f.Cert}, "did find a private key"},
		{"no authority", Files{Cert: f.Cert, Key: f.Key, CA: f.Key}, "no certificate in PEM"},
	} {
		if _, err := Load(tc.files, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.want)
		}
	}
	for _, tc := range []struct {
		client Client
		want   string
	}{
		{Client{Cert: f.Cert}, "one of them is missing"},
		{Client{Key: f.Key}, "one of them is missing"},
		{Client{CA: f.Key}, "no certificate in PEM"},
		{Client{CA: filepath.Join(dir, "none")}, "no such file"},
		{Client{Cert: f.Key, Key: f.Cert}, "did find a private key"},
	} {
		if _, err := tc.client.Config(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: got %v, want %q", tc.client, err, tc.want)
		}
	}
}
