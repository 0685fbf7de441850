package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Host is one destination on the network that a confined program may reach.
type Host struct {
	// Name is a host name or address in lower case, without brackets. With Below
	// it stands for every name below it, itself excluded.
	Name  string
	Below bool
	// Port is the one port allowed; 0 allows 80 and 443.
	Port uint16
}

var hostLabels = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$`)

// ParseHost reads "api.example.com", "*.example.com", "127.0.0.1:8080" or
// "[::1]:8080". Without a port, 80 and 443 are meant. The error says what is wrong
// with the text and does not repeat its name of the setting.
func ParseHost(s string) (Host, error) {
	if len(s) > 260 {
		return Host{}, errors.New("it is too long for a host name")
	}
	name := strings.ToLower(s)
	if strings.Contains(name, "/") {
		return Host{}, fmt.Errorf("%q is no host name: leave out the scheme and the path", Line(s, 80))
	}
	if strings.Contains(name, "%") {
		return Host{}, fmt.Errorf("%q has a zone; write the address alone", Line(s, 80))
	}
	var h Host
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil && !strings.Contains(name, "]:") {
		return Host{Name: addr.Unmap().String()}, nil
	}
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		port, err := strconv.ParseUint(name[i+1:], 10, 16)
		if err != nil || port == 0 {
			return Host{}, fmt.Errorf("%q has no port from 1 to 65535 after the colon", Line(s, 80))
		}
		h.Port, name = uint16(port), name[:i]
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if addr, err := netip.ParseAddr(name); err == nil {
		h.Name = addr.Unmap().String()
		return h, nil
	}
	name, h.Below = strings.CutPrefix(name, "*.")
	if len(name) > 253 || !hostLabels.MatchString(name) {
		return Host{}, fmt.Errorf("%q is no host name; write api.example.com, *.example.com or host:port", Line(s, 80))
	}
	h.Name = strings.TrimSuffix(name, ".")
	return h, nil
}

// String is the form that ParseHost reads.
func (h Host) String() string {
	s := h.Name
	if h.Below {
		s = "*." + s
	}
	if strings.Contains(s, ":") && h.Port != 0 {
		s = "[" + s + "]"
	}
	if h.Port != 0 {
		s += ":" + strconv.Itoa(int(h.Port))
	}
	return s
}

// Loopback reports whether the host is this machine itself.
func (h Host) Loopback() bool {
	if h.Name == "localhost" && !h.Below {
		return true
	}
	addr, err := netip.ParseAddr(h.Name)
	return err == nil && addr.IsLoopback()
}

// Hosts are the destinations a confined program may reach.
type Hosts []Host

// ParseHosts reads a list; the error names the entry.
func ParseHosts(list []string) (Hosts, error) {
	var out Hosts
	for _, s := range list {
		h, err := ParseHost(s)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

// Allow reports whether a connection to the named host and port is allowed. Names
// are compared by text: an address that a listed name resolves to is another host.
func (l Hosts) Allow(name string, port uint16) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".")
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		name = addr.Unmap().String()
	}
	return slices.ContainsFunc(l, func(h Host) bool {
		if h.Port != port && (h.Port != 0 || port != 80 && port != 443) {
			return false
		}
		if h.Below {
			return strings.HasSuffix(name, "."+h.Name)
		}
		return name == h.Name
	})
}
