package testbed

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of one cluster: the API server's own, and
// those by which it knows its users.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// pem is the certificate as its readers want it.
	pem []byte
}

// pair is a certificate and its key, both as PEM.
type pair struct {
	certificate, key []byte
}

// certificateAge is how long a certificate is good. A cluster lives as long as
// a test, or as a person works with it.
const certificateAge = 365 * 24 * time.Hour

func newAuthority(now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateOf(pkix.Name{CommonName: "assay test bed"}, now)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("sign the authority: %w", err)
	}
	return authorityOf(der, key)
}

func authorityOf(der []byte, key *ecdsa.PrivateKey) (*authority, error) {
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	return &authority{certificate: certificate, key: key, pem: encode("CERTIFICATE", der)}, nil
}

// client issues the certificate of a user: Kubernetes reads the user's name
// from the common name and the groups from the organizations.
func (a *authority) client(now time.Time, name string, groups ...string) (pair, error) {
	template := certificateOf(pkix.Name{CommonName: name, Organization: groups}, now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues the certificate of a server that listens on this address.
func (a *authority) server(now time.Time, address net.IP) (pair, error) {
	template := certificateOf(pkix.Name{CommonName: "kube-apiserver"}, now)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.IPAddresses = []net.IP{address}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	keyPEM, err := encodeKey(key)
	return pair{certificate: encode("CERTIFICATE", der), key: keyPEM}, err
}

// certificateOf begins an hour early, for a clock that was set back since.
func certificateOf(subject pkix.Name, now time.Time) *x509.Certificate {
	// 128 bits: two certificates of an authority never share a number.
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		// The random source of the system does not fail.
		panic(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateAge),
		KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// write puts the authority into a folder, for [readAuthority].
func (a *authority) write(folder string) error {
	key, err := encodeKey(a.key)
	if err != nil {
		return err
	}
	return pair{certificate: a.pem, key: key}.write(folder, "ca")
}

// readAuthority reads what write wrote.
func readAuthority(folder string) (*authority, error) {
	certificate, err := decode(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return nil, err
	}
	der, err := decode(filepath.Join(folder, "ca.key"))
	if err != nil {
		return nil, err
	}
	key, err := x509.ParseECPrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read the authority's key: %w", err)
	}
	return authorityOf(certificate, key)
}

// write makes NAME.crt and NAME.key in a folder.
func (p pair) write(folder, name string) error {
	if err := os.WriteFile(filepath.Join(folder, name+".crt"), p.certificate, 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".key"), p.key, 0o600)
}

// encodeKey uses the one form of a private key from which kube-apiserver also
// reads the public key of the service accounts.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func decode(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s: not a PEM file", file)
	}
	return block.Bytes, nil
}
