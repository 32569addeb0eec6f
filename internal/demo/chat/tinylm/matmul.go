package tinylm

import "math"

// dot multiplies two vectors of equal length, a multiple of four. Four partial
// sums keep the adders busy; their order is part of the result and the same for
// every caller.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// rowTile is how many rows of a batch share one pass over a weight row, so that
// the rows stay in the first-level cache.
const rowTile = 16

// matmul computes out[t][j] = x[t] · w[j] for rows of length in. w holds one row
// per output. With add the products are added to out.
func matmul(out, x, w []float32, rows, in, outs int, add bool) {
	for t0 := 0; t0 < rows; t0 += rowTile {
		t1 := min(t0+rowTile, rows)
		for j := range outs {
			wj := w[j*in : (j+1)*in]
			for t := t0; t < t1; t++ {
				v := dot(x[t*in:(t+1)*in], wj)
				if add {
					out[t*outs+j] += v
				} else {
					out[t*outs+j] = v
				}
			}
		}
	}
}

// rmsNorm scales x to unit root mean square and multiplies by the gains g
// (Zhang and Sennrich 2019).
func rmsNorm(out, x, g []float32) {
	const eps = 1e-5
	s := dot(x, x)
	inv := float32(1 / math.Sqrt(float64(s)/float64(len(x))+eps))
	for i := range x {
		out[i] = x[i] * inv * g[i]
	}
}

// rotate turns the pairs (i, i+half) of every head by the angles of a position.
func rotate(x, rope []float32, heads int) {
	size := len(x) / heads
	half := size / 2
	for h := range heads {
		v := x[h*size : (h+1)*size]
		for i := range half {
			c, s := rope[2*i], rope[2*i+1]
			a, b := v[i], v[i+half]
			v[i] = a*c - b*s
			v[i+half] = a*s + b*c
		}
	}
}

// silu is x·sigmoid(x).
func silu(x float32) float32 {
	return x / (1 + float32(math.Exp(-float64(x))))
}
