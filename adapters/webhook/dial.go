package webhook

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// patience bounds a delivery.
const patience = 10 * time.Second

// newClient makes the client of a receiver. It follows no redirect, uses no proxy, and,
// unless private is allowed, connects to public addresses alone: whoever names a receiver
// must not reach what only this machine can.
func newClient(allowPrivate bool) *http.Client {
	dialer := &net.Dialer{Timeout: patience}
	if !allowPrivate {
		// Asked with the address itself, after names are resolved: a name that is resolved
		// anew cannot lead elsewhere.
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if !public(at.Addr()) {
				return fmt.Errorf("%s is no public address: say allowPrivate if that is meant", at.Addr())
			}
			return nil
		}
	}
	return &http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: patience, ResponseHeaderTimeout: patience,
			MaxResponseHeaderBytes: 16 << 10, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second,
		},
	}
}

// special are the networks that are not public, beside those that package netip knows.
var special = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10", "100::/64",
)

// embedding are the networks whose addresses hold an IPv4 address, by the byte at which it
// begins.
var embedding = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
	{netip.MustParsePrefix("::/96"), 12},
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// public reports whether the address is one of the Internet.
func public(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if !address.IsGlobalUnicast() || address.IsPrivate() || address.IsLoopback() || address.IsLinkLocalUnicast() {
		return false
	}
	for _, network := range special {
		if network.Contains(address) {
			return false
		}
	}
	for _, e := range embedding {
		if address.Is6() && e.network.Contains(address) {
			bytes := address.As16()
			return public(netip.AddrFrom4([4]byte(bytes[e.at : e.at+4])))
		}
	}
	return true
}
