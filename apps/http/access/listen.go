package access

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Security is what protects a server.
type Security struct {
	// Authentication: callers must prove who they are.
	Authentication bool
	// TLS: the server speaks it. BehindProxy: somebody in front does.
	TLS, BehindProxy bool
}

// CheckListen refuses to listen at an address without what protects it there: anything but
// loopback takes authentication, and TLS by the server or by a proxy in front.
func CheckListen(address string, security Security) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return fmt.Errorf("--listen: %q: must be ADDRESS:PORT, such as 127.0.0.1:8787 or [::1]:8787", address)
	}
	var errs []error
	if isLoopback(host) {
		if security.BehindProxy && !security.Authentication {
			return errors.New("--behind-proxy: who comes through the proxy must prove who they are: give --tokens or --oidc-issuer")
		}
		return nil
	}
	if !security.Authentication {
		errs = append(errs, fmt.Errorf("--listen: %s can be reached from other machines: give --tokens or --oidc-issuer, so that callers prove who they are, or listen at 127.0.0.1", address))
	}
	if !security.TLS && !security.BehindProxy {
		errs = append(errs, fmt.Errorf("--listen: %s can be reached from other machines, and tokens would travel in the clear: give --tls-cert and --tls-key, say --behind-proxy if a proxy in front speaks TLS, or listen at 127.0.0.1", address))
	}
	return errors.Join(errs...)
}

// isLoopback reports whether only this machine reaches the host.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
