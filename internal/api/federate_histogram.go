package api

import (
	"math"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/histogram"
	"google.golang.org/protobuf/proto"
)

// nativeHistogram writes an exponential histogram in its own protobuf form,
// with float counts, which is the form that a query gives.
func nativeHistogram(h *histogram.FloatHistogram) *dto.Histogram {
	return &dto.Histogram{
		SampleCountFloat: proto.Float64(h.Count),
		SampleSum:        proto.Float64(h.Sum),
		Schema:           proto.Int32(h.Schema),
		ZeroThreshold:    proto.Float64(h.ZeroThreshold),
		ZeroCountFloat:   proto.Float64(h.ZeroCount),
		PositiveSpan:     bucketSpans(h.PositiveSpans),
		PositiveCount:    h.PositiveBuckets,
		NegativeSpan:     bucketSpans(h.NegativeSpans),
		NegativeCount:    h.NegativeBuckets,
	}
}

func bucketSpans(in []histogram.Span) []*dto.BucketSpan {
	var out []*dto.BucketSpan
	for _, s := range in {
		out = append(out, &dto.BucketSpan{Offset: proto.Int32(s.Offset), Length: proto.Uint32(s.Length)})
	}
	return out
}

// classicHistogram writes a histogram with custom buckets as cumulative ones.
// Empty buckets, which the spans leave out, repeat the count below them; the
// encoders add +Inf from the total. whole writes integer counts, for a format
// that knows no others.
func classicHistogram(h *histogram.FloatHistogram, whole bool) *dto.Histogram {
	own := make(map[int]float64, len(h.PositiveBuckets))
	index, next := 0, 0
	for _, s := range h.PositiveSpans {
		index += int(s.Offset)
		for range s.Length {
			own[index] = h.PositiveBuckets[next]
			index++
			next++
		}
	}
	out := &dto.Histogram{SampleSum: proto.Float64(h.Sum)}
	if whole {
		out.SampleCount = proto.Uint64(uint64(h.Count))
	} else {
		out.SampleCountFloat = proto.Float64(h.Count)
	}
	sum := 0.0
	for i, le := range h.CustomValues {
		sum += own[i]
		b := &dto.Bucket{UpperBound: proto.Float64(le)}
		if whole {
			b.CumulativeCount = proto.Uint64(uint64(sum))
		} else {
			b.CumulativeCountFloat = proto.Float64(sum)
		}
		out.Bucket = append(out.Bucket, b)
	}
	return out
}

// wholeCounts reports whether every count is an integer that a float64 holds
// exactly.
func wholeCounts(h *histogram.FloatHistogram) bool {
	const exact = 1 << 53
	for _, c := range append([]float64{h.Count}, h.PositiveBuckets...) {
		if c < 0 || c > exact || c != math.Trunc(c) {
			return false
		}
	}
	return true
}
