package vision

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func testImage(seed uint64, n int) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = r.Float32()*2 - 1
	}
	return x
}

// naive is the definition of the convolution, without any of the order of the fast one.
func naive(x, wt, bias []float32, in, out, h, w int) []float32 {
	res := make([]float32, out*h*w)
	for o := range out {
		for y := range h {
			for xx := range w {
				s := float64(bias[o])
				for c := range in {
					for ky := -1; ky <= 1; ky++ {
						for kx := -1; kx <= 1; kx++ {
							yy, xs := y+ky, xx+kx
							if yy >= 0 && yy < h && xs >= 0 && xs < w {
								s += float64(wt[(o*in+c)*9+(ky+1)*3+kx+1]) * float64(x[(c*h+yy)*w+xs])
							}
						}
					}
				}
				res[(o*h+y)*w+xx] = float32(max(0, s))
			}
		}
	}
	return res
}

func TestConvolveIsTheDefinition(t *testing.T) {
	for _, s := range []struct{ in, out, h, w int }{{3, 5, 8, 8}, {4, 3, 9, 13}, {1, 1, 1, 1}} {
		x, wt, b := testImage(1, s.in*s.h*s.w), testImage(2, s.out*s.in*9), testImage(3, s.out)
		got, want := convolve(x, wt, b, s.in, s.out, s.h, s.w), naive(x, wt, b, s.in, s.out, s.h, s.w)
		for i := range want {
			if math.Abs(float64(got[i]-want[i])) > 1e-4 {
				t.Fatalf("%+v: element %d is %g, want %g", s, i, got[i], want[i])
			}
		}
	}
}

func TestPooling(t *testing.T) {
	if got := poolMax([]float32{1, 2, 9, 3, 4, 9, 5, 5, 5}, 1, 3, 3); !slices.Equal(got, []float32{4}) {
		t.Errorf("max pooling gives %v", got)
	}
	x := make([]float32, 64)
	for i := range x {
		x[i] = float32(i)
	}
	out := make([]float32, 16)
	poolMean(x, 1, 8, 8, out)
	if out[0] != (0+1+8+9)/4.0 || out[15] != (54+55+62+63)/4.0 {
		t.Errorf("mean pooling gives %v", out)
	}
	poolMean([]float32{7}, 1, 1, 1, out)
	if out[0] != 7 || out[15] != 7 {
		t.Errorf("a map of one cell pools to %v", out)
	}
}

func TestDenseAndDot(t *testing.T) {
	got := denseLayer([]float32{1, 2, 3, 4, 5, -1, 0, 0, 0, 0}, []float32{1, 1, 1, 1, 1, 2, 0, 0, 0, 0}, []float32{0.5, -1}, 2, 5, 2, true)
	if !slices.Equal(got, []float32{15.5, 1, 0, 0}) {
		t.Errorf("dense gives %v", got)
	}
}

func TestSoftmaxSumsToOneAndSurvivesLargeLogits(t *testing.T) {
	p := softmax([]float32{1000, 1001, 999, 0, 0, 0}, 3)
	near(t, "sum", float64(p[0]+p[1]+p[2]), 1, 1e-6)
	near(t, "ratio", float64(p[1]/p[0]), math.E, 1e-4)
	near(t, "uniform", float64(p[4]), 1.0/3, 1e-6)
}

func TestWeightsAreFixedBySeed(t *testing.T) {
	a, b, c := newNetwork(7, 1, 64, 10), newNetwork(7, 1, 64, 10), newNetwork(8, 1, 64, 10)
	x := testImage(5, 3*16*16)
	if !slices.Equal(a.infer(x, 1, 16, 16, 1), b.infer(x, 1, 16, 16, 1)) {
		t.Error("the same seed gives different answers")
	}
	if slices.Equal(a.infer(x, 1, 16, 16, 1), c.infer(x, 1, 16, 16, 1)) {
		t.Error("another seed gives the same answers")
	}
}

func TestABatchGivesEachImageItsOwnAnswer(t *testing.T) {
	n := newNetwork(7, 0.5, 64, 10)
	x := testImage(6, 3*3*12*20)
	all := n.infer(x, 3, 12, 20, 1)
	for i := range 3 {
		one := n.infer(x[i*3*12*20:(i+1)*3*12*20], 1, 12, 20, 1)
		if !slices.Equal(one, all[i*10:(i+1)*10]) {
			t.Errorf("image %d answers %v alone and %v in a batch", i, one, all[i*10:(i+1)*10])
		}
	}
}

// What a factor costs is shown by what is computed, not by a clock: the answer
// is the mean of full passes over the views, so every pass was made.
func TestCostIsTheNumberOfViewsThatAreEvaluated(t *testing.T) {
	n := newNetwork(7, 0.5, 32, 10)
	const side = 32
	x := testImage(9, 3*side*side)
	mirror := view(x, side, side, side, true)
	half := view(x, side, side, side/2, true)
	if mirror[0] != x[side-1] || len(half) != 3*side*side/2 || half[side*side/2] != x[side*side+side-1] {
		t.Fatal("a view has the wrong pixels")
	}
	whole, mirrored, partial := n.infer(x, 1, side, side, 1), n.infer(mirror, 1, side, side, 1), n.infer(half, 1, side/2, side, 1)
	for _, tc := range []struct {
		cost  float64
		views [][]float32
	}{{2, [][]float32{whole, mirrored}}, {1.5, [][]float32{whole, partial}}, {3, [][]float32{whole, mirrored, whole}}, {0.5, [][]float32{n.infer(view(x, side, side, side/2, false), 1, side/2, side, 1)}}} {
		got := n.infer(x, 1, side, side, tc.cost)
		for c := range got {
			var want float32
			for _, v := range tc.views {
				want += v[c] / float32(len(tc.views))
			}
			near(t, "logit", float64(got[c]), float64(want), 1e-4)
		}
	}
}

func TestActivationBytesGrowWithBatchAndPixels(t *testing.T) {
	n := newNetwork(7, 1, 256, 10)
	one := n.activationBytes(1, 64, 64)
	if n.activationBytes(8, 64, 64) != 8*one {
		t.Error("a batch of eight does not keep eight times as much")
	}
	if r := float64(n.activationBytes(1, 256, 256)) / float64(one); r < 14 || r > 16 {
		t.Errorf("16 times the pixels keep %.1f times as much", r)
	}
}
