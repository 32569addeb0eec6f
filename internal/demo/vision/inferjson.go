package vision

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// jsonRequest is the infer request of the HTTP protocol.
type jsonRequest struct {
	ID         string                     `json:"id"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Inputs     []jsonInput                `json:"inputs"`
	Outputs    []jsonOutput               `json:"outputs"`
}

type jsonInput struct {
	Name       string                     `json:"name"`
	Shape      []int64                    `json:"shape"`
	Datatype   string                     `json:"datatype"`
	Parameters map[string]json.RawMessage `json:"parameters"`
	Data       json.RawMessage            `json:"data"`
}

type jsonOutput struct {
	Name       string                     `json:"name"`
	Parameters map[string]json.RawMessage `json:"parameters"`
}

// parseInfer reads an infer request. headerLength is the number of bytes of
// JSON before the binary tensors, -1 when the whole body is JSON.
func parseInfer(body []byte, headerLength int) (*inferRequest, *failure) {
	text, rest := body, []byte(nil)
	if headerLength >= 0 {
		if headerLength > len(body) {
			return nil, invalid(fmt.Sprintf("inference header content length %d is larger than the body of %d bytes", headerLength, len(body)))
		}
		text, rest = body[:headerLength], body[headerLength:]
	}
	var jr jsonRequest
	if err := json.Unmarshal(text, &jr); err != nil {
		return nil, invalid("failed to parse the request JSON buffer: " + err.Error())
	}
	req := &inferRequest{id: jr.ID}
	for name, p := range map[string]any{"timing": &req.timing, "timeout": &req.timeoutUS, "binary_data_output": &req.binaryOut} {
		if f := parameter(jr.Parameters, name, p); f != nil {
			return nil, f
		}
	}
	for _, in := range jr.Inputs {
		t, left, f := in.tensor(rest)
		if f != nil {
			return nil, f
		}
		rest = left
		req.inputs = append(req.inputs, t)
	}
	if len(rest) > 0 {
		return nil, invalid(fmt.Sprintf("unexpected additional input data of %d bytes after the binary tensors", len(rest)))
	}
	for _, o := range jr.Outputs {
		w := outputWanted{name: o.Name, binary: req.binaryOut}
		if f := parameter(o.Parameters, "binary_data", &w.binary); f != nil {
			return nil, f
		}
		if f := parameter(o.Parameters, "classification", &w.classes); f != nil {
			return nil, f
		}
		req.outputs = append(req.outputs, w)
	}
	return req, nil
}

// parameter decodes a parameter into p when it is there.
func parameter(ps map[string]json.RawMessage, name string, p any) *failure {
	raw, ok := ps[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, p); err != nil {
		return invalid(fmt.Sprintf("parameter '%s' has the wrong type: %v", name, err))
	}
	return nil
}

// tensor reads one input; rest are the binary bytes that are not yet used.
func (in jsonInput) tensor(rest []byte) (tensorIn, []byte, *failure) {
	t := tensorIn{name: in.Name, datatype: in.Datatype, shape: in.Shape}
	size := -1
	if f := parameter(in.Parameters, "binary_data_size", &size); f != nil {
		return t, rest, f
	}
	if _, binary := in.Parameters["binary_data_size"]; binary {
		if size < 0 || size > len(rest) {
			return t, rest, invalid(fmt.Sprintf("unexpected size for input '%s', it announces %d bytes and %d are left in the body", in.Name, size, len(rest)))
		}
		if in.Data != nil {
			return t, rest, invalid(fmt.Sprintf("input '%s' has both 'data' and binary data", in.Name))
		}
		t.data.raw = rest[:size:size]
		if t.data.raw == nil {
			t.data.raw = []byte{}
		}
		return t, rest[size:], nil
	}
	if in.Data == nil {
		return t, rest, invalid(fmt.Sprintf("input '%s' has neither 'data' nor binary data", in.Name))
	}
	if in.Datatype != datatypeF {
		t.other = true // the model refuses the type; no need to read the data
		return t, rest, nil
	}
	vals, err := parseFloats(in.Data)
	if err != nil {
		return t, rest, invalid(fmt.Sprintf("unable to parse 'data' of input '%s': %v", in.Name, err))
	}
	t.data.floats = vals
	return t, rest, nil
}

// maxNesting is the deepest array in data: a tensor has at most a few dimensions.
const maxNesting = 16

// parseFloats reads the numbers of a JSON array, nested or flat, in order. raw
// is valid JSON.
func parseFloats(raw []byte) ([]float32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return nil, fmt.Errorf("want an array of numbers")
	}
	vals := make([]float32, 0, bytes.Count(raw, []byte{','})+1)
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '[':
			if depth++; depth > maxNesting {
				return nil, fmt.Errorf("arrays nested deeper than %d", maxNesting)
			}
			i++
		case c == ']':
			depth--
			i++
		case c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && (raw[end] >= '0' && raw[end] <= '9' || raw[end] == '.' || raw[end] == 'e' || raw[end] == 'E' || raw[end] == '+' || raw[end] == '-') {
				end++
			}
			v, err := strconv.ParseFloat(string(raw[i:end]), 32)
			if err != nil {
				return nil, fmt.Errorf("number %s does not fit fp32", raw[i:end])
			}
			vals = append(vals, float32(v))
			i = end
		default:
			return nil, fmt.Errorf("want numbers, got %q at byte %d", c, i)
		}
	}
	return vals, nil
}

// encodeInfer prints an answer. headerLength is the number of JSON bytes when
// binary tensors follow, else -1.
func encodeInfer(res *inferResponse) (body []byte, headerLength int) {
	b := []byte(`{"model_name":` + quote(res.model) + `,"model_version":` + quote(res.version))
	if res.id != "" {
		b = append(b, `,"id":`+quote(res.id)...)
	}
	if res.timing != nil {
		t, _ := json.Marshal(res.timing) // a map of integers always encodes
		b = append(append(b, `,"parameters":`...), t...)
	}
	b = append(b, `,"outputs":[`...)
	var tail []byte
	headerLength = -1
	for i, o := range res.outputs {
		if i > 0 {
			b = append(b, ',')
		}
		shape, _ := json.Marshal(o.shape) // integers
		b = append(b, `{"name":`+quote(o.name)+`,"datatype":`+quote(o.datatype)+`,"shape":`...)
		b = append(b, shape...)
		if o.binary {
			raw := o.raw()
			b = append(b, fmt.Sprintf(`,"parameters":{"binary_data_size":%d}}`, len(raw))...)
			tail = append(tail, raw...)
			headerLength = 0
			continue
		}
		b = append(b, `,"data":[`...)
		for k, s := range o.text {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(b, quote(s)...)
		}
		for k, v := range o.floats {
			if k > 0 {
				b = append(b, ',')
			}
			b = appendFloat(b, v)
		}
		b = append(b, `]}`...)
	}
	b = append(b, `]}`...)
	if headerLength == 0 {
		headerLength = len(b)
	}
	return append(b, tail...), headerLength
}

func quote(s string) string {
	q, _ := json.Marshal(s) // strings always encode
	return string(q)
}
