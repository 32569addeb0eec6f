package vision

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"
	"time"
)

// The tensors of every model.
const (
	inputName  = "input"
	outputProb = "probabilities"
	outputLog  = "logits"
	datatypeF  = "FP32"
)

// infer checks a request against the model, queues it and shapes the answer.
func (r *repository) infer(ctx context.Context, name, ver string, req *inferRequest) (*inferResponse, *failure) {
	v, f := r.find(name, ver)
	if f != nil {
		return nil, f
	}
	j, f := v.accept(req)
	if f != nil {
		return nil, f
	}
	wanted, f := v.outputs(req)
	if f != nil {
		return nil, f
	}
	o, f := v.infer(ctx, j)
	if f != nil {
		return nil, f
	}
	res := &inferResponse{model: name, version: v.name, id: req.id}
	for _, w := range wanted {
		res.outputs = append(res.outputs, v.shape(w, o, j.items))
	}
	if req.timing {
		us := func(d time.Duration) int64 { return int64(d / time.Microsecond) }
		p := o.phases
		res.timing = map[string]int64{
			"receive_us": req.receiveUS, "request_us": us(p.request), "queue_us": us(p.queue), "compute_input_us": us(p.input),
			"compute_infer_us": us(p.infer), "compute_output_us": us(p.output), "batch_size": int64(o.batch), "instance": int64(o.inst),
		}
	}
	return res, nil
}

// accept turns a request into a job or says what is wrong, in Triton's words.
func (v *version) accept(req *inferRequest) (*job, *failure) {
	m := v.model
	var in *tensorIn
	for i := range req.inputs {
		t := &req.inputs[i]
		if t.name != inputName {
			return nil, invalid(fmt.Sprintf("unexpected inference input '%s' for model '%s'", t.name, m.Name))
		}
		if in != nil {
			return nil, invalid(fmt.Sprintf("input '%s' already exists in request", t.name))
		}
		in = t
	}
	id := requestID(req.id)
	if in == nil {
		return nil, invalid(fmt.Sprintf("%sexpected 1 inputs but got 0 inputs for model '%s'. Got input(s) [], but missing required input(s) ['%s']. Please provide all required input(s).", id, m.Name, inputName))
	}
	if in.datatype != datatypeF {
		return nil, invalid(fmt.Sprintf("%sinference input '%s' data-type is '%s', but model '%s' expects '%s'", id, in.name, in.datatype, m.Name, datatypeF))
	}
	if len(in.shape) != 4 || in.shape[1] != channelsIn || in.shape[0] < 1 || in.shape[2] < minSide || in.shape[3] < minSide ||
		in.shape[2] > int64(m.MaxSide) || in.shape[3] > int64(m.MaxSide) {
		return nil, invalid(fmt.Sprintf("%sunexpected shape for input '%s' for model '%s'. Expected [-1,%d,-1,-1], got %s. NOTE: Setting a non-zero max_batch_size in the model config requires a batch dimension to be prepended to each input shape. Images have sides from %d to %d.",
			id, in.name, m.Name, channelsIn, shapeText(in.shape), minSide, m.MaxSide))
	}
	if in.shape[0] > int64(m.MaxBatchSize) {
		return nil, invalid(fmt.Sprintf("%sinference request batch-size must be <= %d for '%s'", id, m.MaxBatchSize, m.Name))
	}
	want := in.shape[0] * in.shape[1] * in.shape[2] * in.shape[3] // at most MaxBatchSize·3·MaxSide², far from overflow
	if got := int64(in.data.elements()); in.other || got != want {
		if in.data.raw != nil {
			return nil, invalid(fmt.Sprintf("%sinput byte size mismatch for input '%s' for model '%s'. Expected %d, got %d", id, in.name, m.Name, 4*want, len(in.data.raw)))
		}
		return nil, invalid(fmt.Sprintf("%sunable to parse 'data': Shape does not match true shape of 'data' field, expected %d elements, got %d", id, want, max(0, got)))
	}
	if req.timeoutUS < 0 {
		return nil, invalid(fmt.Sprintf("%sparameter 'timeout' is %d; give microseconds, zero or more", id, req.timeoutUS))
	}
	return &job{id: req.id, items: int(in.shape[0]), h: int(in.shape[2]), w: int(in.shape[3]), input: in.data,
		timeout: time.Duration(min(req.timeoutUS, math.MaxInt64/1000)) * time.Microsecond}, nil
}

func shapeText(s []int64) string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = fmt.Sprint(d)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// outputs checks the wanted outputs; none means all.
func (v *version) outputs(req *inferRequest) ([]outputWanted, *failure) {
	if len(req.outputs) == 0 {
		return []outputWanted{{name: outputProb, binary: req.binaryOut}, {name: outputLog, binary: req.binaryOut}}, nil
	}
	for _, w := range req.outputs {
		if w.name != outputProb && w.name != outputLog {
			return nil, invalid(fmt.Sprintf("%sunexpected inference output '%s' for model '%s'", requestID(req.id), w.name, v.model.Name))
		}
		if w.classes < 0 || w.classes > v.model.Classes {
			return nil, invalid(fmt.Sprintf("%sclassification parameter is %d for output '%s'; the model has %d classes", requestID(req.id), w.classes, w.name, v.model.Classes))
		}
	}
	return req.outputs, nil
}

// shape picks a wanted output from an outcome.
func (v *version) shape(w outputWanted, o outcome, items int) tensorOut {
	vals := o.probs
	if w.name == outputLog {
		vals = o.logits
	}
	classes := v.model.Classes
	if w.classes == 0 {
		return tensorOut{name: w.name, datatype: datatypeF, shape: []int64{int64(items), int64(classes)}, floats: vals, binary: w.binary}
	}
	out := tensorOut{name: w.name, datatype: "BYTES", shape: []int64{int64(items), int64(w.classes)}, binary: w.binary}
	for i := range items {
		out.text = append(out.text, topClasses(vals[i*classes:(i+1)*classes], w.classes)...)
	}
	return out
}

// topClasses gives the k best classes as the classification extension does:
// value:index:label.
func topClasses(row []float32, k int) []string {
	order := make([]int, len(row))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return row[order[a]] > row[order[b]] })
	out := make([]string, k)
	for i, c := range order[:k] {
		out[i] = fmt.Sprintf("%f:%d:%s", row[c], c, label(c))
	}
	return out
}
