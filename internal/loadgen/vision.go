package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sightline/internal/model"
)

// Datatypes and layouts of vision inputs.
const (
	DatatypeFP32  = "FP32"
	DatatypeUINT8 = "UINT8"
	LayoutNCHW    = "NCHW"
	LayoutNHWC    = "NHWC"
)

// VisionPlan sends images to a KServe v2 server over HTTP with the binary
// tensor extension (kserve/open-inference-protocol, Triton's
// protocol/extension_binary_data).
type VisionPlan struct {
	Traffic
	// Input is the name of the tensor, Datatype FP32 or UINT8, Layout NCHW or
	// NHWC, Channels its number of colour planes.
	Input, Datatype, Layout string
	Channels                int
	// Sizes are edges of square images with weights, Items batch dimensions.
	Sizes []Choice[int]
	Items []Choice[int]
	// Versions are the model versions to ask for; none lets the server choose.
	Versions []Choice[string]
	// OversizedShare of the requests carry OversizedItems images of
	// OversizedEdge pixels instead.
	OversizedShare                float64
	OversizedEdge, OversizedItems int
	// ImpatientShare of the requests may wait in the server's queue for at most
	// Patience, by Triton's request parameter timeout; what is not picked up in
	// time fails. It needs a model that allows its timeout to be overridden.
	ImpatientShare float64
	Patience       time.Duration
	// Timing asks the engine for its own phases of each request by the request
	// parameter timing.
	Timing bool
}

func (p VisionPlan) withDefaults() VisionPlan {
	p.Traffic = p.Traffic.withDefaults("vision", DefaultVisionRate)
	if p.Input == "" {
		p.Input = "input"
	}
	if p.Datatype == "" {
		p.Datatype = DatatypeFP32
	}
	if p.Layout == "" {
		p.Layout = LayoutNCHW
	}
	if p.Channels == 0 {
		p.Channels = 3
	}
	if len(p.Sizes) == 0 {
		p.Sizes = []Choice[int]{{64, 1}}
	}
	if p.OversizedEdge == 0 {
		p.OversizedEdge = 1024
	}
	if p.OversizedItems == 0 {
		p.OversizedItems = 1
	}
	if p.Patience == 0 {
		p.Patience = time.Millisecond
	}
	return p
}

func (p VisionPlan) validate() error {
	if err := p.Traffic.validate(); err != nil {
		return err
	}
	where := fmt.Sprintf("plan %q", p.Name)
	if p.Datatype != DatatypeFP32 && p.Datatype != DatatypeUINT8 {
		return configProblem(fmt.Sprintf("%s has datatype %q", where, p.Datatype), "choose FP32 or UINT8")
	}
	if p.Layout != LayoutNCHW && p.Layout != LayoutNHWC {
		return configProblem(fmt.Sprintf("%s has layout %q", where, p.Layout), "choose NCHW or NHWC")
	}
	if p.Channels < 1 || p.Channels > 16 {
		return configProblem(fmt.Sprintf("%s has %d channels", where, p.Channels), "give 1 to 16")
	}
	if p.OversizedEdge < 1 || p.OversizedEdge > maxImageEdge || p.OversizedItems < 1 || p.OversizedItems > maxItems {
		return configProblem(fmt.Sprintf("%s has oversized inputs of %d images of %d pixels", where, p.OversizedItems, p.OversizedEdge), fmt.Sprintf("give up to %d images of up to %d pixels", maxItems, maxImageEdge))
	}
	if p.Patience < time.Microsecond {
		return configProblem(fmt.Sprintf("%s waits in a queue for %v", where, p.Patience), "give a microsecond or more")
	}
	return p.mix().validate(where, len(p.Targets))
}

func (t Traffic) targetWeights() []float64 {
	w := make([]float64, len(t.Targets))
	for i, x := range t.Targets {
		w[i] = x.Weight
	}
	return w
}

func (p VisionPlan) mix() Mix {
	return Mix{Targets: p.targetWeights(), Versions: p.Versions, Sizes: p.Sizes, Items: p.Items, OversizedShare: share(p.OversizedShare), ImpatientShare: share(p.ImpatientShare)}
}

// vision draws and sends the requests of a VisionPlan.
type vision struct {
	plan   VisionPlan
	client *http.Client
	pool   *imagePool
	turns  turns
}

func newVision(p VisionPlan, t http.RoundTripper, seed uint64) *vision {
	return &vision{plan: p, client: newClient(t), pool: newImagePool(seed, p.Channels, p.Datatype, p.Layout)}
}

type visionCall struct {
	*vision
	target      Target
	version     string
	edge, items int
	oversized   bool
	impatient   bool
	variant     int
}

func (v *vision) draw(rng *rand.Rand, _ Arrival, m Mix) call {
	c := visionCall{vision: v, target: v.plan.Targets[v.turns.next(m.Targets)]}
	c.version = choose(rng, m.Versions, "")
	c.edge, c.items = choose(rng, m.Sizes, v.plan.Sizes[0].Value), choose(rng, m.Items, 1)
	c.variant = rng.IntN(imageVariants)
	if c.oversized = chance(rng, m.OversizedShare); c.oversized {
		c.edge, c.items = v.plan.OversizedEdge, v.plan.OversizedItems
	}
	c.impatient = chance(rng, m.ImpatientShare)
	return c
}

// inferHeader is the JSON part of an infer request.
type inferHeader struct {
	ID         string         `json:"id"`
	Parameters map[string]any `json:"parameters"`
	Inputs     []inferTensor  `json:"inputs"`
}

type inferTensor struct {
	Name       string         `json:"name"`
	Shape      []int          `json:"shape"`
	Datatype   string         `json:"datatype"`
	Parameters map[string]any `json:"parameters"`
}

// inferAnswer is what the generator reads of the JSON part of an answer.
type inferAnswer struct {
	ModelVersion string                     `json:"model_version"`
	Parameters   map[string]json.RawMessage `json:"parameters"`
}

func (c visionCall) do(ctx context.Context, r *Record) {
	r.Instance, r.VersionAsked = c.target.Instance, c.version
	r.Items, r.Size, r.Oversized = c.items, c.edge, c.oversized
	req, size, err := c.request(ctx, r.ID)
	if err != nil {
		fail(ctx, r, err)
		return
	}
	r.BytesOut = size
	var seen moments
	// The body exists before the clock starts: making it is no part of the
	// server's latency, and the lag shows it.
	r.Sent = time.Now()
	res, err := c.client.Do(req.WithContext(seen.watch(ctx)))
	seen.fill(r)
	if err != nil {
		fail(ctx, r, err)
		return
	}
	defer res.Body.Close()
	r.Status = res.StatusCode
	if res.StatusCode != http.StatusOK {
		refuse(r, res)
		return
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	r.BytesIn = int64(len(body))
	if err != nil {
		fail(ctx, r, err)
		return
	}
	r.Done = time.Now()
	if err := readInfer(body, res.Header.Get("Inference-Header-Content-Length"), r); err != nil {
		r.Error, r.Message = model.ErrorInternal, shorten(err.Error(), 200)
	}
}

func (c visionCall) request(ctx context.Context, id uint64) (*http.Request, int64, error) {
	shape := []int{c.items, c.plan.Channels, c.edge, c.edge}
	if c.plan.Layout == LayoutNHWC {
		shape = []int{c.items, c.edge, c.edge, c.plan.Channels}
	}
	parts := make([][]byte, c.items+1)
	tensor := 0
	for i := range c.items {
		parts[i+1] = c.pool.get(c.edge, c.variant+i)
		tensor += len(parts[i+1])
	}
	params := map[string]any{"binary_data_output": true}
	if c.plan.Timing {
		params["timing"] = true
	}
	if c.impatient {
		params["timeout"] = c.plan.Patience.Microseconds()
	}
	head, err := json.Marshal(inferHeader{
		ID: strconv.FormatUint(id, 10), Parameters: params,
		Inputs: []inferTensor{{c.plan.Input, shape, c.plan.Datatype, map[string]any{"binary_data_size": tensor}}},
	})
	if err != nil {
		return nil, 0, err
	}
	parts[0] = head
	at := c.target.URL + "/v2/models/" + url.PathEscape(c.plan.Model)
	if c.version != "" {
		at += "/versions/" + url.PathEscape(c.version)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at+"/infer", nil)
	if err != nil {
		return nil, 0, err
	}
	open := func() (io.ReadCloser, error) {
		rs := make([]io.Reader, len(parts))
		for i, p := range parts {
			rs[i] = bytes.NewReader(p)
		}
		return io.NopCloser(io.MultiReader(rs...)), nil
	}
	// GetBody lets the transport send again on a fresh connection when a kept
	// one turns out to be closed.
	req.GetBody = open
	req.Body, _ = open()
	req.ContentLength = int64(len(head) + tensor)
	req.Header.Set("Content-Type", "application/octet-stream")
	req.Header.Set("Inference-Header-Content-Length", strconv.Itoa(len(head)))
	return req, req.ContentLength, nil
}

// readInfer takes version, timings and batch size from an answer. headLength
// is the header that says where the JSON part ends; without it all is JSON.
func readInfer(body []byte, headLength string, r *Record) error {
	head := body
	if headLength != "" {
		n, err := strconv.Atoi(headLength)
		if err != nil || n < 0 || n > len(body) {
			return fmt.Errorf("inference header length %q does not fit a body of %d bytes", shorten(headLength, 20), len(body))
		}
		head = body[:n]
	}
	var a inferAnswer
	if err := json.Unmarshal(head, &a); err != nil {
		return fmt.Errorf("infer answer: %w", err)
	}
	r.Version = a.ModelVersion
	readTimings(a.Parameters, r)
	return nil
}
