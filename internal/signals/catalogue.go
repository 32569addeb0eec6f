package signals

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"

	"sightline/internal/model"
)

//go:embed catalogue.yaml dialects/*.yaml
var embedded embed.FS

// dialectOrder is the order of preference when two dialects give the same
// signal of the same entity, as with vLLM's backend inside Triton.
var dialectOrder = []string{"triton", "vllm", "dcgm"}

type catalogueFile struct {
	Groups []group `yaml:"groups"`
}

type group struct {
	Name    string        `yaml:"name"`
	Title   string        `yaml:"title"`
	Levels  []model.Level `yaml:"levels"`
	Absent  Reason        `yaml:"absent"`
	Signals []struct {
		Name       string   `yaml:"name"`
		Operations []string `yaml:"operations"`
		Unit       string   `yaml:"unit"`
		Meaning    string   `yaml:"meaning"`
		Labels     []string `yaml:"labels"`
		Absent     *Reason  `yaml:"absent"`
	} `yaml:"signals"`
}

// operations is the closed list of the third part of a name.
var operations = []string{"rate", "ratio", "mean", "p50", "p90", "p95", "p99", "max", "last"}

// Load parses the embedded catalogue and dialects and checks them whole: no
// unknown key, every expression parses, and each dialect answers for every
// signal of the groups it covers, by an expression or by a reason.
func Load() (*Catalogue, error) {
	text, err := embedded.ReadFile("catalogue.yaml")
	if err != nil {
		return nil, err
	}
	var dialects [][]byte
	for _, n := range dialectOrder {
		b, err := embedded.ReadFile("dialects/" + n + ".yaml")
		if err != nil {
			return nil, err
		}
		dialects = append(dialects, b)
	}
	return parse(text, dialects...)
}

// parse reads a catalogue and dialects from YAML and validates them together.
func parse(catalogue []byte, dialects ...[]byte) (*Catalogue, error) {
	var f catalogueFile
	if err := strict(catalogue, &f); err != nil {
		return nil, fault("catalogue", err)
	}
	c := &Catalogue{groups: f.Groups, byFull: map[string]*Signal{}}
	var errs []error
	for _, g := range f.Groups {
		errs = append(errs, c.addGroup(g)...)
	}
	for _, b := range dialects {
		d, err := c.parseDialect(b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.dialects = append(c.dialects, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Catalogue) addGroup(g group) (errs []error) {
	if g.Absent.Code == "" || g.Absent.Text == "" || g.Absent.Remedy == "" || len(g.Levels) == 0 {
		errs = append(errs, fault("catalogue", fmt.Errorf("group %q needs levels and a complete absent", g.Name)))
	}
	for _, l := range g.Levels {
		if identity[l] == nil {
			errs = append(errs, fault("catalogue", fmt.Errorf("group %q has the unknown level %q", g.Name, l)))
		}
	}
	for _, s := range g.Signals {
		if s.Unit == "" || s.Meaning == "" || len(s.Operations) == 0 {
			errs = append(errs, fault("catalogue", fmt.Errorf("signal %q needs a unit, a meaning and operations", s.Name)))
		}
		for _, op := range s.Operations {
			if !slices.Contains(operations, op) {
				errs = append(errs, fault("catalogue", fmt.Errorf("signal %q has the unknown operation %q", s.Name, op)))
			}
			sig := &Signal{Name: s.Name, Operation: op, Unit: s.Unit, Meaning: s.Meaning, Group: g.Name, Levels: g.Levels, Labels: s.Labels, Absent: g.Absent}
			if s.Absent != nil {
				sig.Absent = *s.Absent
			}
			c.signals = append(c.signals, sig)
			for _, l := range g.Levels {
				if c.byFull[sig.At(l)] != nil {
					errs = append(errs, fault("catalogue", fmt.Errorf("signal %s is listed twice", sig.At(l))))
				}
				c.byFull[sig.At(l)] = sig
			}
		}
	}
	return errs
}

// strict decodes exactly one YAML document and refuses unknown keys.
func strict(b []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	if err := dec.Decode(into); err != nil {
		return err
	}
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

func fault(where string, err error) error {
	return &model.Problem{Code: "dialect_invalid", Text: where + " is invalid", Err: err, Hint: "correct the file and build again"}
}
