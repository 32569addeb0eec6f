package vision

import (
	"encoding/json"
	"testing"
)

// FuzzParseInfer: whatever arrives, the parser ends with a request or a
// failure of the client, and what it accepts can be checked against a model.
func FuzzParseInfer(f *testing.F) {
	f.Add([]byte(`{"id":"1","inputs":[{"name":"input","shape":[1,3,8,8],"datatype":"FP32","data":[[1,2.5e-3],-4]}],"outputs":[{"name":"logits","parameters":{"classification":2}}]}`), -1)
	f.Add([]byte(`{"inputs":[{"name":"input","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]}abcd`), 91)
	f.Add([]byte(`{"inputs":[{"name":"input","shape":[-1,9223372036854775807],"datatype":"FP32","parameters":{"binary_data_size":-1}}]}`), 5)
	f.Add([]byte(`{"parameters":{"timing":1,"timeout":"x"}}`), -1)
	f.Add([]byte(`{"inputs":[{"data":[1e999]}]}`), -1)
	f.Add([]byte(``), 0)
	v := &version{model: &ModelConfig{Name: "m", MaxBatchSize: 8, MaxSide: 16, Classes: 10}}
	f.Fuzz(func(t *testing.T, body []byte, header int) {
		req, fail := parseInfer(body, header)
		if fail != nil {
			if fail.httpStatus() != 400 || fail.text == "" {
				t.Errorf("failure %+v", fail)
			}
			return
		}
		j, fail := v.accept(req)
		if fail != nil {
			return
		}
		if want := j.items * channelsIn * j.h * j.w; j.input.elements() != want || j.items > 8 || j.h > 16 || j.w > 16 {
			t.Errorf("accepted %d images of %d by %d with %d values", j.items, j.h, j.w, j.input.elements())
		}
		j.input.copyTo(make([]float32, j.input.elements()))
	})
}

// FuzzEncodeInfer: every answer is valid JSON, with the announced binary tail.
func FuzzEncodeInfer(f *testing.F) {
	f.Add("id", "text", float32(0.5), true)
	f.Add("\x00\"\xff", "a:b", float32(-1e38), false)
	f.Fuzz(func(t *testing.T, id, text string, v float32, binary bool) {
		out, n := encodeInfer(&inferResponse{model: "m", version: "1", id: id, timing: map[string]int64{"queue_us": 3}, outputs: []tensorOut{
			{name: "a", datatype: "FP32", shape: []int64{2}, floats: []float32{v, v}, binary: binary},
			{name: "b", datatype: "BYTES", shape: []int64{1}, text: []string{text}}}})
		if binary != (n >= 0) {
			t.Fatalf("binary %v, header length %d", binary, n)
		}
		tail := 0
		if n < 0 {
			n = len(out)
		} else {
			tail = 8
		}
		if !json.Valid(out[:n]) || len(out)-n != tail {
			t.Errorf("%q with %d bytes of tail", out[:n], len(out)-n)
		}
	})
}
