package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"sightline/internal/model"
)

// maxConfigBytes bounds the configuration file, aliases expanded by the YAML
// library included in its own limit.
const maxConfigBytes = 1 << 20

// decodeStrict decodes one YAML document into out. Every unknown key is
// reported with its line and the nearest known key; a repeated key, a second
// document and a wrong type are errors as well.
func decodeStrict(b []byte, path string, out *Config) error {
	if len(b) > maxConfigBytes {
		return &model.Problem{Code: "config_too_large", Text: fmt.Sprintf("%s is larger than %d bytes", path, maxConfigBytes), Hint: "split target lists into files named in scrape.files"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // an empty file is the defaults
		}
		return &model.Problem{Code: "config_syntax", Text: path + ": " + tidyYAMLError(err), Hint: "see docs/configuration.md"}
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return &model.Problem{Code: "config_syntax", Text: path + ": holds more than one YAML document", Hint: "keep one"}
	}
	var faults []error
	if len(doc.Content) == 1 {
		unknownKeys(doc.Content[0], reflect.TypeFor[Config](), path, "", &faults)
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if err := doc.Decode(out); err != nil {
		return &model.Problem{Code: "config_type", Text: path + ": " + tidyYAMLError(err)}
	}
	return nil
}

var yamlNoise = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?`)

func tidyYAMLError(err error) string {
	return strings.Join(strings.Fields(yamlNoise.ReplaceAllString(err.Error(), "")), " ")
}

var yamlUnmarshaler = reflect.TypeFor[yaml.Unmarshaler]()

// unknownKeys walks n beside the Go type that it will be decoded into.
func unknownKeys(n *yaml.Node, t reflect.Type, path, at string, faults *[]error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(yamlUnmarshaler) {
		return
	}
	switch {
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		fields := map[string]reflect.Type{}
		for i := range t.NumField() {
			f := t.Field(i)
			if name := strings.Split(f.Tag.Get("yaml"), ",")[0]; name != "" && name != "-" {
				fields[name] = f.Type
			}
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			ft, known := fields[k.Value]
			if !known {
				p := &model.Problem{Code: "config_unknown_key", Text: fmt.Sprintf("%s:%d: unknown key %q", path, k.Line, join(at, k.Value))}
				if near := nearest(k.Value, fields); near != "" {
					p.Hint = fmt.Sprintf("did you mean %q?", join(at, near))
				} else {
					p.Hint = "known here: " + strings.Join(sortedKeys(fields), ", ")
				}
				*faults = append(*faults, p)
				continue
			}
			unknownKeys(v, ft, path, join(at, k.Value), faults)
		}
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, v := range n.Content {
			unknownKeys(v, t.Elem(), path, fmt.Sprintf("%s[%d]", at, i), faults)
		}
	}
}

func join(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func sortedKeys(m map[string]reflect.Type) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// nearest returns the known key with the smallest edit distance, if it is close
// enough to be a slip: at most two edits, or a third of the length.
func nearest(key string, known map[string]reflect.Type) string {
	best, bestD := "", max(2, len(key)/3)+1
	for _, k := range sortedKeys(known) {
		if d := editDistance(key, k); d < bestD {
			best, bestD = k, d
		}
	}
	return best
}

// editDistance is the Levenshtein distance of a and b in bytes.
func editDistance(a, b string) int {
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
		}
		prev = cur
	}
	return prev[len(b)]
}
