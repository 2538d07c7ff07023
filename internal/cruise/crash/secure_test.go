//go:build heavy

package crash_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/cruise/temporaltest"
	"github.com/cco-dev/cco/internal/must"
)

// front stands before a service as the cloud's does: it speaks TLS, wants a certificate of those who come, and an
// account's key with every request.
type front struct {
	address         string
	ca, cert, key   string // files
	asked, declined atomic.Int64
}

const accountKey = "tmprl_0123456789abcdefghijklmnopqrstuvwxyz"

func newFront(t *testing.T, service string) *front {
	t.Helper()
	f := &front{}
	plain := &http.Transport{Protocols: &http.Protocols{}}
	plain.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(plain.CloseIdleConnections)
	proxy := &httputil.ReverseProxy{Transport: plain, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: service}) }}
	own, certificate := selfSigned(t)
	known := x509.NewCertPool()
	known.AddCert(own)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accountKey {
			f.declined.Add(1)
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "16") // unauthenticated
			w.Header().Set("Grpc-Message", "who are you")
			return
		}
		f.asked.Add(1)
		proxy.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known}
	s.StartTLS()
	t.Cleanup(s.CloseClientConnections)
	f.address = s.Listener.Addr().String()
	dir := t.TempDir()
	f.ca, f.cert, f.key = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		f.ca: {Type: "CERTIFICATE", Bytes: s.Certificate().Raw}, f.cert: {Type: "CERTIFICATE", Bytes: own.Raw},
		f.key: {Type: "PRIVATE KEY", Bytes: must.Get(x509.MarshalPKCS8PrivateKey(certificate))(t)}} {
		must.Do(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return f
}

func selfSigned(t *testing.T) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), BasicConstraintsValid: true, IsCA: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der := must.Get(x509.CreateCertificate(rand.Reader, about, about, key.Public(), key))(t)
	return must.Get(x509.ParseCertificate(der))(t), key
}

// Guards against a service that is reached in a weaker way than the settings say, and against a key that shows.
func TestMachinesReachAServiceByTLSAndWithAKey(t *testing.T) {
	t.Parallel()
	bin := cruisetest.Build(t)
	f := &crew{user: cruisetest.New(t, bin), server: temporaltest.Start(t)}
	front := newFront(t, f.server.Address)
	account := filepath.Join(f.user.Home, "account.key")
	must.Do(t, os.WriteFile(account, []byte(accountKey+"\n"), 0o600))
	f.user.ShareBy(front.address, heartbeat)
	f.user.Settings(fmt.Sprintf("ca = %q\ncert = %q\ncert_key = %q\napi_key = {file = %q}\n", front.ca, front.cert,
		front.key, account))
	f.join(t, 2).start()
	f.carry(t, "reviewing", func(id string) { stopped(t, f, id) })
	t.Logf("%d requests came with the key, %d without", front.asked.Load(), front.declined.Load())
	if front.asked.Load() == 0 || front.declined.Load() > 0 {
		t.Errorf("%d requests came with the key, %d without", front.asked.Load(), front.declined.Load())
	}
	settings := filepath.Join(f.user.Home, "config", "cco", "config.toml")
	good := string(must.Get(os.ReadFile(settings))(t))
	for what, text := range map[string]string{
		"without an authority":  strings.Replace(good, "ca = ", "# ca = ", 1),
		"without a certificate": strings.NewReplacer("cert = ", "# cert = ", "cert_key = ", "# cert_key = ").Replace(good),
		"without a key":         strings.Replace(good, "api_key = ", "# api_key = ", 1),
	} {
		must.Do(t, os.WriteFile(settings, []byte(text), 0o600))
		out, words, _ := f.user.Run("cruise", "list")
		if !strings.Contains(words, "may be old") || strings.Contains(out+words, accountKey) {
			t.Errorf("%s: it says %q", what, words)
		}
	}
}
