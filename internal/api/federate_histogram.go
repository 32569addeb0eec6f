package api

import (
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
// encoders add +Inf from the total.
func classicHistogram(h *histogram.FloatHistogram) *dto.Histogram {
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
	out := &dto.Histogram{SampleCountFloat: proto.Float64(h.Count), SampleSum: proto.Float64(h.Sum)}
	sum := 0.0
	for i, le := range h.CustomValues {
		sum += own[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(le), CumulativeCountFloat: proto.Float64(sum)})
	}
	return out
}
