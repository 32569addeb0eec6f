package loadgen

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sync"
)

// Bounds of generated inputs: bodies are held in memory.
const (
	maxImageEdge = 4096
	maxItems     = 256
)

// imageVariants is how many different pictures there are of one size.
const imageVariants = 4

// imagePool makes pictures once and hands out their encoded bytes, so that a
// request costs no arithmetic of the client.
type imagePool struct {
	seed     uint64
	channels int
	datatype string
	last     bool // channels last (NHWC)

	mu   sync.Mutex
	made map[[2]int][]byte
}

func newImagePool(seed uint64, channels int, datatype, layout string) *imagePool {
	return &imagePool{seed: seed, channels: channels, datatype: datatype, last: layout == LayoutNHWC, made: map[[2]int][]byte{}}
}

// get returns one picture; the bytes are shared and must not be changed.
func (p *imagePool) get(edge, variant int) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := [2]int{edge, variant % imageVariants}
	if b, ok := p.made[k]; ok {
		return b
	}
	b := encodeImage(drawImage(p.seed, edge, p.channels, k[1]), edge, p.channels, p.datatype, p.last)
	p.made[k] = b
	return b
}

// drawImage paints a soft gradient, a few discs and noise: enough structure
// that a classifier's answers differ between variants. Values are 0 to 255,
// planes one after the other.
func drawImage(seed uint64, edge, channels, variant int) []uint8 {
	rng := rand.New(rand.NewPCG(seed^uint64(variant)<<32, uint64(edge)<<8|uint64(channels)))
	out := make([]uint8, edge*edge*channels)
	type disc struct{ x, y, r, level float64 }
	for c := range channels {
		fx, fy, phase := rng.Float64()*6, rng.Float64()*6, rng.Float64()*6
		discs := make([]disc, 3)
		for i := range discs {
			discs[i] = disc{rng.Float64(), rng.Float64(), .05 + .2*rng.Float64(), 160*rng.Float64() - 80}
		}
		noise := rng.Uint64() | 1
		plane := out[c*edge*edge : (c+1)*edge*edge]
		for y := range edge {
			v := float64(y) / float64(edge)
			for x := range edge {
				u := float64(x) / float64(edge)
				level := 128 + 60*math.Sin(fx*u+fy*v+phase)
				for _, d := range discs {
					if (u-d.x)*(u-d.x)+(v-d.y)*(v-d.y) < d.r*d.r {
						level += d.level
					}
				}
				// xorshift64 by Marsaglia: the generator's own noise is too slow here.
				noise ^= noise << 13
				noise ^= noise >> 7
				noise ^= noise << 17
				level += float64(noise&31) - 16
				plane[y*edge+x] = uint8(min(max(level, 0), 255))
			}
		}
	}
	return out
}

// encodeImage lays a picture out as a raw tensor: UINT8 as it is, FP32 scaled
// to 0..1, little endian as the binary tensor extension wants.
func encodeImage(planes []uint8, edge, channels int, datatype string, channelsLast bool) []byte {
	n := edge * edge
	at := func(i int) uint8 { return planes[i] }
	if channelsLast {
		at = func(i int) uint8 { return planes[(i%channels)*n+i/channels] }
	}
	if datatype == DatatypeUINT8 {
		out := make([]byte, n*channels)
		for i := range out {
			out[i] = at(i)
		}
		return out
	}
	out := make([]byte, 4*n*channels)
	for i := range n * channels {
		binary.LittleEndian.PutUint32(out[4*i:], math.Float32bits(float32(at(i))/255))
	}
	return out
}
