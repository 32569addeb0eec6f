package vision

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// channelsIn is the depth of an input image; pooled is the side to which the
// last feature map is pooled, whatever the size of the image, so that the dense
// layers fit every size.
const (
	channelsIn = 3
	pooled     = 4
	minSide    = 8
)

// network is a convolutional classifier in fp32: three times a 3×3 convolution,
// relu and 2×2 max pooling, adaptive average pooling to 4×4, a hidden dense
// layer with relu, a dense layer to the classes. Images are C×H×W in row-major
// order. After newNetwork it is read only and safe for concurrent use.
type network struct {
	channels [4]int // in, and after each convolution
	hidden   int
	classes  int
	conv     [3][]float32 // out × in × 9
	convBias [3][]float32
	dense    [2][]float32 // hidden × flat, classes × hidden
	bias     [2][]float32
}

// newNetwork generates the weights from seed: normal with He's deviation
// sqrt(2/fan-in), so that activations keep their scale through the layers.
// width scales the number of channels, hidden is the size of the hidden layer.
func newNetwork(seed uint64, width float64, hidden, classes int) *network {
	scale := func(c int) int { return max(1, int(math.Round(float64(c)*width))) }
	n := &network{channels: [4]int{channelsIn, scale(16), scale(32), scale(64)}, hidden: hidden, classes: classes}
	rng := rand.New(rand.NewPCG(seed, 0x5157))
	fill := func(size, fan int) []float32 {
		w := make([]float32, size)
		dev := math.Sqrt(2 / float64(fan))
		for i := range w {
			w[i] = float32(rng.NormFloat64() * dev)
		}
		return w
	}
	for l := range n.conv {
		in, out := n.channels[l], n.channels[l+1]
		n.conv[l] = fill(out*in*9, in*9)
		n.convBias[l] = fill(out, 100*out)
	}
	flat := n.channels[3] * pooled * pooled
	n.dense[0], n.bias[0] = fill(hidden*flat, flat), fill(hidden, 100*hidden)
	n.dense[1], n.bias[1] = fill(classes*hidden, hidden), fill(classes, 100*classes)
	return n
}

// weightBytes is the size of all parameters.
func (n *network) weightBytes() int64 {
	var c int
	for l := range n.conv {
		c += len(n.conv[l]) + len(n.convBias[l])
	}
	for l := range n.dense {
		c += len(n.dense[l]) + len(n.bias[l])
	}
	return int64(c) * 4
}

// activationBytes is what one forward pass of a batch keeps: every layer of
// every image, as a framework without memory planning does.
func (n *network) activationBytes(batch, h, w int) int64 {
	floats := channelsIn * h * w
	for l := range n.conv {
		floats += n.channels[l] * (h + 2) * (w + 2) // padded input
		floats += n.channels[l+1] * h * w
		h, w = h/2, w/2
		floats += n.channels[l+1] * h * w
	}
	floats += n.channels[3]*pooled*pooled + n.hidden + n.classes
	return int64(batch) * int64(floats) * 4
}

// infer returns the logits, batch × classes, of images, batch × 3 × h × w.
// cost is how many views of each image are evaluated: the logits are the mean
// over the whole image, its mirror image, and so on; a fraction is a view of
// that share of the rows. So a factor f costs f times the arithmetic.
func (n *network) infer(images []float32, batch, h, w int, cost float64) []float32 {
	flat := n.channels[3] * pooled * pooled
	logits := make([]float32, batch*n.classes)
	size := channelsIn * h * w
	views := max(1, int(math.Ceil(cost-1e-9)))
	features := make([]float32, batch*flat)
	for v := range views {
		rows := h
		if left := cost - float64(v); left < 1 {
			rows = max(minSide, int(float64(h)*left))
		}
		for i := range batch {
			img := images[i*size : (i+1)*size]
			n.features(view(img, h, w, rows, v%2 == 1), rows, w, features[i*flat:(i+1)*flat])
		}
		hidden := denseLayer(features, n.dense[0], n.bias[0], batch, flat, n.hidden, true)
		out := denseLayer(hidden, n.dense[1], n.bias[1], batch, n.hidden, n.classes, false)
		for i, o := range out {
			logits[i] += o / float32(views)
		}
	}
	return logits
}

// view cuts the first rows of each channel and mirrors them if asked.
func view(img []float32, h, w, rows int, mirrored bool) []float32 {
	if rows == h && !mirrored {
		return img
	}
	out := make([]float32, channelsIn*rows*w)
	for c := range channelsIn {
		for y := range rows {
			src, dst := img[(c*h+y)*w:(c*h+y+1)*w], out[(c*rows+y)*w:(c*rows+y+1)*w]
			copy(dst, src)
			if mirrored {
				for i, j := 0, w-1; i < j; i, j = i+1, j-1 {
					dst[i], dst[j] = dst[j], dst[i]
				}
			}
		}
	}
	return out
}

// features runs the convolutions on one image and pools the result to 4×4.
func (n *network) features(img []float32, h, w int, out []float32) {
	x := img
	for l := range n.conv {
		y := convolve(x, n.conv[l], n.convBias[l], n.channels[l], n.channels[l+1], h, w)
		x = poolMax(y, n.channels[l+1], h, w)
		h, w = h/2, w/2
	}
	poolMean(x, n.channels[3], h, w, out)
}

// convolve is a 3×3 convolution with zero padding of one and relu, of in×h×w
// to out×h×w. The nine products of a pixel are summed in one pass over three
// padded rows.
func convolve(x, weights, bias []float32, in, out, h, w int) []float32 {
	pw := w + 2
	padded := make([]float32, in*(h+2)*pw)
	for c := range in {
		for y := range h {
			copy(padded[(c*(h+2)+y+1)*pw+1:], x[(c*h+y)*w:(c*h+y+1)*w])
		}
	}
	res := make([]float32, out*h*w)
	for o := range out {
		plane := res[o*h*w : (o+1)*h*w]
		for i := range plane {
			plane[i] = bias[o]
		}
		for c := range in {
			k := weights[(o*in+c)*9 : (o*in+c)*9+9]
			k0, k1, k2, k3, k4, k5, k6, k7, k8 := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7], k[8]
			for y := range h {
				base := (c*(h+2) + y) * pw
				a, b, d := padded[base:base+pw], padded[base+pw:base+2*pw], padded[base+2*pw:base+3*pw]
				row := plane[y*w : (y+1)*w]
				a, b, d = a[:len(row)+2], b[:len(row)+2], d[:len(row)+2]
				a0, a1, b0, b1, d0, d1 := a[0], a[1], b[0], b[1], d[0], d[1]
				for i := range row {
					a2, b2, d2 := a[i+2], b[i+2], d[i+2]
					row[i] += k0*a0 + k1*a1 + k2*a2 + k3*b0 + k4*b1 + k5*b2 + k6*d0 + k7*d1 + k8*d2
					a0, a1, b0, b1, d0, d1 = a1, a2, b1, b2, d1, d2
				}
			}
		}
		for i, v := range plane {
			if v < 0 {
				plane[i] = 0
			}
		}
	}
	return res
}

// poolMax halves both sides; an odd last row or column is dropped.
func poolMax(x []float32, ch, h, w int) []float32 {
	oh, ow := h/2, w/2
	out := make([]float32, ch*oh*ow)
	for c := range ch {
		for y := range oh {
			a, b := x[(c*h+2*y)*w:(c*h+2*y+1)*w], x[(c*h+2*y+1)*w:(c*h+2*y+2)*w]
			row := out[(c*oh+y)*ow : (c*oh+y+1)*ow]
			for i := range row {
				row[i] = max(a[2*i], a[2*i+1], b[2*i], b[2*i+1])
			}
		}
	}
	return out
}

// poolMean averages each channel over a 4×4 grid; a map smaller than the grid
// repeats its cells.
func poolMean(x []float32, ch, h, w int, out []float32) {
	for c := range ch {
		for gy := range pooled {
			y0, y1 := gy*h/pooled, max((gy+1)*h/pooled, gy*h/pooled+1)
			for gx := range pooled {
				x0, x1 := gx*w/pooled, max((gx+1)*w/pooled, gx*w/pooled+1)
				var sum float32
				for y := y0; y < y1; y++ {
					for _, v := range x[(c*h+y)*w+x0 : (c*h+y)*w+x1] {
						sum += v
					}
				}
				out[(c*pooled+gy)*pooled+gx] = sum / float32((y1-y0)*(x1-x0))
			}
		}
	}
}

// denseLayer multiplies batch×in by the transposed out×in weights. The loop over
// the batch is inside the loop over the outputs: each row of weights is read
// from memory once for the whole batch, which is what makes batches cheap.
func denseLayer(x, weights, bias []float32, batch, in, out int, relu bool) []float32 {
	res := make([]float32, batch*out)
	for o := range out {
		row := weights[o*in : (o+1)*in]
		for i := range batch {
			v := bias[o] + dot(row, x[i*in:(i+1)*in])
			if relu && v < 0 {
				v = 0
			}
			res[i*out+o] = v
		}
	}
	return res
}

// dot keeps four sums so that the additions do not wait for each other.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// softmax turns logits, rows of classes, into probabilities.
func softmax(logits []float32, classes int) []float32 {
	out := make([]float32, len(logits))
	for r := 0; r < len(logits); r += classes {
		row, dst := logits[r:r+classes], out[r:r+classes]
		top := row[0]
		for _, v := range row {
			top = max(top, v)
		}
		var sum float64
		for i, v := range row {
			e := math.Exp(float64(v - top))
			dst[i] = float32(e)
			sum += e
		}
		for i := range dst {
			dst[i] = float32(float64(dst[i]) / sum)
		}
	}
	return out
}

// label names a class; the classes of a generated network mean nothing.
func label(class int) string { return fmt.Sprintf("class_%03d", class) }
