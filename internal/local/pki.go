// SPDX-License-Identifier: Apache-2.0

package local

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certLifetime is how long the certificates of one run are good for. A run that
// lasts longer is started again.
const certLifetime = 90 * 24 * time.Hour

// authority is the certificate authority of one run; it signs everything in it.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

// keyPair is a certificate with its key, in memory and as files.
type keyPair struct {
	cert, key         []byte
	certFile, keyFile string
}

// newAuthority makes an authority that keeps its files in dir.
func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "tenantry local"}, key)
	if err != nil {
		return nil, err
	}
	bundle, err := cert.EncodeCertificates(ca)
	if err != nil {
		return nil, err
	}
	a := &authority{dir: dir, cert: ca, key: key, pem: bundle}
	return a, os.WriteFile(a.file(), bundle, 0o600)
}

// file is the path of the authority's certificate.
func (a *authority) file() string { return filepath.Join(a.dir, "ca.crt") }

// server issues a serving certificate for the names and addresses given.
func (a *authority) server(name string, hosts ...string) (keyPair, error) {
	return a.issue(name, pkix.Name{CommonName: name}, hosts)
}

// client issues a certificate that the API server takes for the user and groups.
func (a *authority) client(name, user string, groups ...string) (keyPair, error) {
	return a.issue(name, pkix.Name{CommonName: user, Organization: groups}, nil)
}

// issue makes a certificate good for both ends; who it speaks for is in subject and hosts.
func (a *authority) issue(name string, subject pkix.Name, hosts []string) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return keyPair{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      subject,
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, h := range hosts {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return keyPair{}, fmt.Errorf("sign certificate %s: %w", name, err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return keyPair{}, err
	}
	pair := keyPair{
		certFile: filepath.Join(a.dir, name+".crt"),
		keyFile:  filepath.Join(a.dir, name+".key"),
	}
	if pair.cert, err = cert.EncodeCertificates(leaf); err != nil {
		return keyPair{}, err
	}
	if pair.key, err = keyutil.MarshalPrivateKeyToPEM(key); err != nil {
		return keyPair{}, err
	}
	if err := os.WriteFile(pair.certFile, pair.cert, 0o600); err != nil {
		return keyPair{}, err
	}
	return pair, os.WriteFile(pair.keyFile, pair.key, 0o600)
}

func (p keyPair) tls() (*tls.Certificate, error) {
	c, err := tls.X509KeyPair(p.cert, p.key)
	return &c, err
}
