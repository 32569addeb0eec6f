package api

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"sightline/internal/model"
)

// CheckListen refuses to serve strangers in the clear: an address that is not
// loopback needs both TLS and at least one token, unless insecure says that the
// user accepts it. A host name other than localhost counts as open, because
// what it resolves to can change after the check; so do "", ":port" and the
// wildcard addresses, which listen everywhere. The error is a *model.Problem
// with code listen_open or listen_invalid.
func CheckListen(addr string, tls, tokens, insecure bool) error {
	host := ""
	if addr != "" {
		h, _, err := net.SplitHostPort(addr)
		if err != nil {
			return &model.Problem{Code: "listen_invalid", Text: fmt.Sprintf("listen address %q is not host:port", addr), Hint: "write for example 127.0.0.1:7070 or [::1]:7070", Err: err}
		}
		host = h
	}
	if loopbackHost(host) || insecure || (tls && tokens) {
		return nil
	}
	var missing []string
	if !tls {
		missing = append(missing, "TLS")
	}
	if !tokens {
		missing = append(missing, "token")
	}
	return &model.Problem{
		Code: "listen_open",
		Text: fmt.Sprintf("listen address %q can be reached from other machines and has no %s", addr, strings.Join(missing, " and no ")),
		Hint: "listen on 127.0.0.1, or configure tls and tokens, or accept the risk with --insecure-listen",
	}
}

// loopbackHost reports whether host (no port, no brackets) always means this
// machine: localhost, names below it (RFC 6761 section 6.3) and loopback
// addresses.
func loopbackHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}
