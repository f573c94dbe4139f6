// Package certtest makes certificates for tests: authorities, and what they sign.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// CA is an authority. Its methods are safe for concurrent use.
type CA struct {
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	pem    []byte
	serial atomic.Int64
}

// New makes an authority of that name.
func New(t testing.TB, name string) *CA {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	ca := &CA{cert: cert, key: key, pem: block("CERTIFICATE", der)}
	ca.serial.Store(1)
	return ca
}

// PEM returns the certificate of the authority.
func (ca *CA) PEM() []byte { return ca.pem }

// Pool returns a pool with the authority alone.
func (ca *CA) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(ca.cert)
	return p
}

// Issue makes a certificate for 127.0.0.1 and localhost, fit for servers and clients, and its key. Each
// has a serial number of its own, from 2 on.
func (ca *CA) Issue(t testing.TB) (cert, key []byte, serial int64) {
	t.Helper()
	leaf := newKey(t)
	serial = ca.serial.Add(1)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "sidecard"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, leaf.Public(), ca.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(leaf)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", raw), serial
}

// Write issues a certificate and writes tls.crt, tls.key and ca.crt, in that order, each by renaming it
// over what was there. It returns the serial number.
func (ca *CA) Write(t testing.TB, dir string) (serial int64) {
	t.Helper()
	cert, key, serial := ca.Issue(t)
	for _, f := range []struct {
		name    string
		content []byte
	}{{"tls.crt", cert}, {"tls.key", key}, {"ca.crt", ca.pem}} {
		Put(t, filepath.Join(dir, f.name), f.content)
	}
	return serial
}

// Put replaces a file at once.
func Put(t testing.TB, path string, content []byte) {
	t.Helper()
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
