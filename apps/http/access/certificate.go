package access

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a certificate whose files are read again when they change.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu       sync.Mutex
	modified [2]time.Time
	current  *tls.Certificate
	// problem is what was said of files that cannot be used.
	problem string
}

// TLS is the configuration of a server with the certificate of two files in PEM, which are
// read again when they change. Files that cannot be used leave the certificate as it was.
func TLS(certFile, keyFile string, logger *slog.Logger) (*tls.Config, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: logger}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.newest(), nil },
	}, nil
}

func (c *certificate) read() error {
	modified, err := c.times()
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return err
	}
	c.current, c.modified = &pair, modified
	return nil
}

func (c *certificate) times() (modified [2]time.Time, err error) {
	for i, file := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(file)
		if err != nil {
			return modified, err
		}
		modified[i] = info.ModTime()
	}
	return modified, nil
}

func (c *certificate) newest() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	modified, err := c.times()
	if err != nil || modified == c.modified {
		return c.current
	}
	err = c.read()
	switch {
	case err == nil:
		c.problem = ""
	case err.Error() != c.problem:
		// The other file may come in a moment.
		c.problem = err.Error()
		c.log.Warn("the new certificate cannot be used; the old one stays", "error", err)
	}
	return c.current
}
