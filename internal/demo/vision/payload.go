package vision

import (
	"encoding/binary"
	"math"
	"strconv"
)

// payload is the data of an fp32 tensor as it arrived: decoded numbers, or raw
// little-endian bytes that are decoded when the batch is gathered.
type payload struct {
	floats []float32
	raw    []byte
}

// elements is the number of fp32 values; raw bytes that are not a multiple of
// four give -1.
func (p payload) elements() int {
	if p.floats != nil {
		return len(p.floats)
	}
	if len(p.raw)%4 != 0 {
		return -1
	}
	return len(p.raw) / 4
}

// copyTo writes all values to dst and returns their number.
func (p payload) copyTo(dst []float32) int {
	if p.floats != nil {
		return copy(dst, p.floats)
	}
	n := len(p.raw) / 4
	for i := range n {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(p.raw[4*i:]))
	}
	return n
}

// rawFP32 is the little-endian form of values.
func rawFP32(vals []float32) []byte {
	out := make([]byte, 4*len(vals))
	for i, v := range vals {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(v))
	}
	return out
}

// rawStrings is Triton's form of BYTES: a 4-byte length before each element.
func rawStrings(vals []string) []byte {
	var out []byte
	for _, v := range vals {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(v)))
		out = append(out, v...)
	}
	return out
}

// tensorIn is an input as it arrived, not yet checked against a model.
type tensorIn struct {
	name, datatype string
	shape          []int64
	data           payload
	other          bool // the data came in a type other than fp32
}

// outputWanted is an output that a client asked for.
type outputWanted struct {
	name    string
	binary  bool
	classes int // > 0: the top classes as text instead of the tensor
}

// inferRequest is a request of either protocol.
type inferRequest struct {
	id        string
	timing    bool // our parameter: put the measured phases into the answer
	timeoutUS int64
	inputs    []tensorIn
	outputs   []outputWanted // empty: all
	binaryOut bool           // default for outputs that do not say
	receiveUS int64          // reading and parsing, measured by the front end
}

// tensorOut is an output of an answer: floats or text.
type tensorOut struct {
	name, datatype string
	shape          []int64
	floats         []float32
	text           []string
	binary         bool
}

func (t tensorOut) raw() []byte {
	if t.datatype == "BYTES" {
		return rawStrings(t.text)
	}
	return rawFP32(t.floats)
}

// inferResponse is an answer for either protocol.
type inferResponse struct {
	model, version, id string
	outputs            []tensorOut
	timing             map[string]int64 // nil unless asked for
}

// appendFloat prints v as short as float32 allows. JSON has no infinities;
// they and NaN print as null, as a missing value.
func appendFloat(b []byte, v float32) []byte {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, float64(v), 'g', -1, 32)
}
