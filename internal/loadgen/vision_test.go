package loadgen

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sightline/internal/model"
)

// inferServer is a KServe v2 fake that remembers what it was asked.
type inferServer struct {
	*httptest.Server
	mu     sync.Mutex
	paths  []string
	heads  []inferHeader
	bytes  []int
	conns  map[string]bool
	status int
	body   string
}

func newInferServer(t *testing.T) *inferServer {
	s := &inferServer{conns: map[string]bool{}, status: 200}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		n, _ := strconv.Atoi(r.Header.Get("Inference-Header-Content-Length"))
		var h inferHeader
		if err != nil || n == 0 || json.Unmarshal(b[:n], &h) != nil {
			http.Error(w, `{"error":"malformed"}`, 400)
			return
		}
		s.mu.Lock()
		s.paths, s.heads, s.bytes = append(s.paths, r.URL.Path), append(s.heads, h), append(s.bytes, len(b)-n)
		s.conns[r.RemoteAddr] = true
		status, body := s.status, s.body
		s.mu.Unlock()
		if status != 200 {
			w.WriteHeader(status)
			io.WriteString(w, body)
			return
		}
		head := `{"model_name":"m","model_version":"2","parameters":{"queue_ns":2000000,"compute_infer_us":3000,"received_unix_ns":1700000000000000001,"batch_size":4,"kind":"x_ms","neg_ms":-1},"outputs":[{"name":"o","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}}]}`
		w.Header().Set("Inference-Header-Content-Length", fmt.Sprint(len(head)))
		io.WriteString(w, head+"\x00\x00\x80\x3f\x00\x00\x00\x00")
	}))
	t.Cleanup(s.Close)
	return s
}

func visionPlan(urls ...string) VisionPlan {
	p := VisionPlan{Traffic: Traffic{Model: "resnet mini"}, Timing: true}
	for i, u := range urls {
		p.Targets = append(p.Targets, Target{URL: u, Instance: fmt.Sprint("i", i)})
	}
	return p.withDefaults()
}

func testTransport(t *testing.T) *http.Transport {
	tr := newTransport(DefaultConfig())
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func send(c call) *Record {
	r := &Record{ID: 9, Scheduled: time.Now()}
	c.do(context.Background(), r)
	return r
}

func TestVisionSpeaksKServeWithBinaryTensors(t *testing.T) {
	s := newInferServer(t)
	p := visionPlan(s.URL)
	p.Sizes, p.Items, p.Versions = []Choice[int]{{16, 1}}, []Choice[int]{{3, 1}}, []Choice[string]{{"2", 1}}
	v := newVision(p, testTransport(t), 1)
	r := send(v.draw(rand.New(rand.NewPCG(1, 1)), Arrival{}, p.mix()))
	if r.Error != "" || r.Status != 200 || r.Version != "2" || r.VersionAsked != "2" || r.Instance != "i0" || r.Items != 3 || r.Size != 16 || r.BatchSize != 4 {
		t.Fatalf("record %+v", r)
	}
	if s.paths[0] != "/v2/models/resnet mini/versions/2/infer" {
		t.Errorf("path %q", s.paths[0])
	}
	h := s.heads[0]
	if fmt.Sprint(h.Inputs[0].Shape) != "[3 3 16 16]" || h.Inputs[0].Datatype != "FP32" || h.ID != "9" || h.Parameters["timing"] != true || h.Parameters["binary_data_output"] != true {
		t.Errorf("head %+v", h)
	}
	if h.Parameters["timeout"] != nil {
		t.Error("a patient request has a timeout")
	}
	if want := 3 * 3 * 16 * 16 * 4; s.bytes[0] != want || h.Inputs[0].Parameters["binary_data_size"] != float64(want) {
		t.Errorf("%d tensor bytes, %v announced, want %d", s.bytes[0], h.Inputs[0].Parameters, want)
	}
	if !near(r.Timings["queue"], .002) || !near(r.Timings["compute_infer"], .003) || len(r.Timings) != 2 || r.Marks["received"].UnixNano() != 1700000000000000001 {
		t.Errorf("timings %v marks %v", r.Timings, r.Marks)
	}
	// The transport may note the end of writing after the answer is there.
	if !r.Wrote.IsZero() && r.Wrote.Before(r.Sent) {
		t.Errorf("written at %s, before it was sent at %s", r.Wrote, r.Sent)
	}
	if r.FirstByte.Before(r.Sent) || r.Done.Before(r.FirstByte) || r.Sent.Before(r.Scheduled) || r.BytesOut == 0 || r.BytesIn == 0 {
		t.Errorf("times or bytes %+v", r)
	}
}

func TestImpatientRequestsSayHowLongTheyWait(t *testing.T) {
	s := newInferServer(t)
	p := visionPlan(s.URL)
	p.ImpatientShare, p.Patience = 1, 3*time.Millisecond
	send(newVision(p, testTransport(t), 1).draw(rand.New(rand.NewPCG(1, 1)), Arrival{}, p.mix()))
	if got := s.heads[0].Parameters["timeout"]; got != 3000. {
		t.Errorf("timeout %v, want 3000 microseconds", got)
	}
}

func TestVisionErrorsHaveAKind(t *testing.T) {
	s := newInferServer(t)
	p := visionPlan(s.URL)
	v := newVision(p, testTransport(t), 1)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		status int
		body   string
		want   model.ErrorKind
	}{
		{500, `{"error":"CUDA out of memory. Tried to allocate 1 GiB"}`, model.ErrorOOM},
		{503, `{"error":"Request timeout expired"}`, model.ErrorTimeout},
		{503, `{"error":"[request id: 9] Exceeds maximum queue size"}`, model.ErrorOverloaded},
		{307, ``, model.ErrorInternal},
	} {
		s.mu.Lock()
		s.status, s.body = c.status, c.body
		s.mu.Unlock()
		r := send(v.draw(rng, Arrival{}, p.mix()))
		if r.Error != c.want || r.Status != c.status || r.Message != c.body || r.Done.IsZero() {
			t.Errorf("%+v: record %+v", c, r)
		}
	}
	s.mu.Lock()
	n := len(s.conns)
	s.mu.Unlock()
	if n != 1 {
		t.Errorf("%d connections for requests one after the other, want the same one", n)
	}
	s.Close()
	if r := send(v.draw(rng, Arrival{}, p.mix())); r.Error != model.ErrorUnavailable || r.Status != 0 {
		t.Errorf("closed port: %+v", r)
	}
}

func TestVisionTimesOutAndIsCancelled(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(hold)
	p := visionPlan(s.URL)
	v := newVision(p, testTransport(t), 1)
	rng := rand.New(rand.NewPCG(1, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	r := &Record{Scheduled: time.Now()}
	v.draw(rng, Arrival{}, p.mix()).do(ctx, r)
	if r.Error != model.ErrorTimeout {
		t.Errorf("after its timeout: %+v", r)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	r = &Record{Scheduled: time.Now()}
	v.draw(rng, Arrival{}, p.mix()).do(ctx, r)
	if r.Error != model.ErrorCancelled {
		t.Errorf("cancelled: %+v", r)
	}
}

func TestVisionDrawsByWeightAndRepeats(t *testing.T) {
	p := visionPlan("http://a", "http://b", "http://c")
	p.Versions = []Choice[string]{{"1", 3}, {"2", 1}}
	p.OversizedShare, p.OversizedEdge, p.ImpatientShare = .1, 512, .5
	count := func() (by map[string]int) {
		v := newVision(p, testTransport(t), 1)
		rng := rand.New(rand.NewPCG(4, 4))
		by = map[string]int{}
		m := p.mix()
		m.Targets = []float64{2, 1, 0}
		for range 3000 {
			c := v.draw(rng, Arrival{}, m).(visionCall)
			by[c.target.Instance]++
			by["v"+c.version]++
			if c.impatient {
				by["impatient"]++
			}
			if c.oversized {
				by["big"]++
				if c.edge != 512 {
					t.Fatalf("oversized edge %d", c.edge)
				}
			}
		}
		return by
	}
	by := count()
	if by["i0"] != 2000 || by["i1"] != 1000 || by["i2"] != 0 {
		t.Errorf("targets %v", by)
	}
	if math.Abs(float64(by["v1"])-2250) > 100 || math.Abs(float64(by["big"])-300) > 70 || math.Abs(float64(by["impatient"])-1500) > 120 {
		t.Errorf("draws %v", by)
	}
	if again := count(); fmt.Sprint(again) != fmt.Sprint(by) {
		t.Errorf("the same seed gives %v and %v", by, again)
	}
}

func TestImagesAreEncodedOnceAndDiffer(t *testing.T) {
	u8 := newImagePool(5, 3, DatatypeUINT8, LayoutNHWC)
	a, b := u8.get(8, 0), u8.get(8, 1)
	if len(a) != 8*8*3 || string(a) == string(b) || &a[0] != &u8.get(8, imageVariants)[0] {
		t.Error("wrong length, equal variants or no reuse")
	}
	planes := drawImage(5, 8, 3, 0)
	f32 := newImagePool(5, 3, DatatypeFP32, LayoutNCHW).get(8, 0)
	for i, v := range planes {
		got := math.Float32frombits(binary.LittleEndian.Uint32(f32[4*i:]))
		if got != float32(v)/255 {
			t.Fatalf("value %d is %v, want %v/255", i, got, v)
		}
		if last := a[(i%64)*3+i/64]; last != v {
			t.Fatalf("channels last: value %d is %v, want %v", i, last, v)
		}
	}
	if string(drawImage(6, 8, 3, 0)) == string(planes) {
		t.Error("the seed changes nothing")
	}
}

func TestReadInferRefusesNonsense(t *testing.T) {
	for _, c := range [][2]string{{"{}", "9"}, {"{}", "-1"}, {"{}", "x"}, {"<html>", ""}} {
		if err := readInfer([]byte(c[0]), c[1], &Record{}); err == nil {
			t.Errorf("%q with header length %q passes", c[0], c[1])
		}
	}
	var r Record
	if err := readInfer([]byte(`{"model_version":"1"}`), "", &r); err != nil || r.Version != "1" || r.Timings != nil || r.BatchSize != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

func FuzzReadInfer(f *testing.F) {
	f.Add([]byte(`{"model_version":"1","parameters":{"queue_us":1e400,"a_unix_ns":"12","batch_size":[]}}`), "")
	f.Add([]byte(`{"parameters":{"_ns":1,"queue_ns":null}}xx`), "40")
	f.Fuzz(func(t *testing.T, body []byte, n string) {
		var r Record
		if readInfer(body, n, &r) == nil {
			for k, v := range r.Timings {
				if k == "" || !(v >= 0) || math.IsInf(v, 1) || strings.HasSuffix(k, "_unix") {
					t.Errorf("timing %q is %v", k, v)
				}
			}
		}
	})
}
