package scrape

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"sightline/internal/model"
)

// ParseURL normalises a target as people write it: host:8002,
// http://host:8002 and http://host:8002/metrics are the same. The result has a
// scheme, an explicit port and a path. Errors have the code target_url_invalid
// or target_url_credentials.
func ParseURL(s string) (*url.URL, error) {
	bad := func(why string) error {
		return invalid("target_url_invalid", fmt.Sprintf("target %q %s", s, why), "write host:port or http://host:port/metrics")
	}
	text := strings.TrimSpace(s)
	if text == "" {
		return nil, bad("is empty")
	}
	if !utf8.ValidString(text) {
		return nil, bad("is not UTF-8")
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, bad("is not a URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, bad("has the scheme " + u.Scheme)
	case u.User != nil:
		// The URL is an id: it is shown, logged and stored as it is.
		return nil, invalid("target_url_credentials", "a target URL carries a user name or password", "remove it; a target's URL is shown in the open")
	case u.Opaque != "" || u.Fragment != "" || u.RawFragment != "":
		return nil, bad("has a fragment")
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), " \t/;@"):
		return nil, bad("has no host")
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, bad("has the port " + port)
	}
	if _, err := url.ParseQuery(u.RawQuery); err != nil {
		return nil, bad("has parameters that cannot be read")
	}
	path := u.Path
	if path == "" || path == "/" {
		path = "/metrics"
	}
	// Rebuilt from its parts, so that one target has one spelling.
	return &url.URL{Scheme: u.Scheme, Host: net.JoinHostPort(strings.ToLower(u.Hostname()), port), Path: path, RawQuery: u.Query().Encode()}, nil
}

// ParseFlag reads the command line's form of a target, URL or SERVICE=URL.
func ParseFlag(s string) (TargetConfig, error) {
	t := TargetConfig{URL: s}
	if name, rest, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(name, ":/?[") {
		if strings.TrimSpace(name) == "" {
			return t, invalid("target_url_invalid", fmt.Sprintf("target %q has no service before the =", s), "write SERVICE=http://host:port/metrics")
		}
		t.Service, t.URL = strings.TrimSpace(name), rest
	}
	_, err := ParseURL(t.URL)
	return t, err
}

// addressPolicy refuses link-local addresses unless they are listed.
type addressPolicy struct {
	allowed []netip.Prefix
	dialer  net.Dialer
}

func newAddressPolicy(allowed []string) (*addressPolicy, error) {
	p := &addressPolicy{}
	for _, a := range allowed {
		prefix, err := netip.ParsePrefix(a)
		if err != nil {
			addr, aerr := netip.ParseAddr(a)
			if aerr != nil {
				return nil, invalid("scrape_config_invalid", fmt.Sprintf("%q is no address", a), "list addresses such as 169.254.10.20 or prefixes such as 169.254.10.0/24")
			}
			addr = addr.WithZone("").Unmap()
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		p.allowed = append(p.allowed, prefix.Masked())
	}
	// Control sees the address after name resolution, so a name that resolves
	// to a link-local address is caught as well.
	p.dialer = net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return err
		}
		return p.checkHost(host)
	}}
	return p, nil
}

func (p *addressPolicy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := p.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: conn}, nil
}

// checkHost refuses host when it is a link-local address in numbers; names pass
// and are checked when they are dialled.
func (p *addressPolicy) checkHost(host string) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	addr = addr.WithZone("").Unmap()
	if !addr.IsLinkLocalUnicast() && !addr.IsLinkLocalMulticast() {
		return nil
	}
	for _, a := range p.allowed {
		if a.Contains(addr) {
			return nil
		}
	}
	return &model.Problem{Code: "target_link_local", Text: fmt.Sprintf("address %s is link-local", addr), Hint: "cloud machines keep credentials on such addresses; list it under scrape.allow_addresses if you mean it"}
}
