package config

import (
	"fmt"
	"math"
	"time"

	"github.com/alecthomas/units"
	promcommon "github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// Duration is a time.Duration written as in Prometheus: 30s, 5m, 24h, 15d.
type Duration time.Duration

// String writes the shortest Prometheus form.
func (d Duration) String() string {
	if d < 0 {
		return "-" + (-d).String()
	}
	return promcommon.Duration(d).String()
}

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return d.String(), nil }

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	return d.UnmarshalText([]byte(n.Value))
}

// UnmarshalText reads the Prometheus form, and Go's as well (1m30s, 1.5h).
func (d *Duration) UnmarshalText(b []byte) error {
	s := string(b)
	if p, err := promcommon.ParseDuration(s); err == nil {
		*d = Duration(p)
		return nil
	}
	g, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration; write 30s, 5m, 24h or 15d", s)
	}
	*d = Duration(g)
	return nil
}

// Bytes is a size in bytes, written as a number or with a unit: 512KiB, 64MiB.
type Bytes int64

// MarshalYAML implements yaml.Marshaler.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// String writes the size in the largest binary unit that divides it.
func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	return units.Base2Bytes(b).String()
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (b *Bytes) UnmarshalYAML(n *yaml.Node) error {
	var plain int64
	if err := n.Decode(&plain); err == nil {
		if plain < 0 {
			return fmt.Errorf("%q is negative; write a size such as 64MiB", n.Value)
		}
		*b = Bytes(plain)
		return nil
	}
	v, err := units.ParseStrictBytes(n.Value)
	if err != nil || v < 0 || v == math.MaxInt64 {
		return fmt.Errorf("%q is no size; write a number of bytes or 512KiB, 64MiB, 2GiB", n.Value)
	}
	*b = Bytes(v)
	return nil
}

// Secret is a string that is never printed.
type Secret string

const hidden = "<secret>"

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalYAML hides the value.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// MarshalJSON hides the value.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }
