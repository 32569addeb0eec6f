package kvcache

import (
	"math/rand/v2"
	"testing"
)

// check proves that every block is in exactly one state and every count agrees.
func check(t *testing.T, p *Pool, owners [][]int32) {
	t.Helper()
	refs := make([]int, len(p.blocks))
	for _, o := range owners {
		for _, i := range o {
			refs[i]++
		}
	}
	live := 0
	for i, b := range p.blocks {
		if b.refs != refs[i] {
			t.Fatalf("block %d has %d references, its owners hold %d", i, b.refs, refs[i])
		}
		states := 0
		for _, s := range []bool{b.refs > 0, b.listed, b.withheld} {
			if s {
				states++
			}
		}
		if states != 1 {
			t.Fatalf("block %d is in %d states: refs %d listed %v withheld %v", i, states, b.refs, b.listed, b.withheld)
		}
		if b.refs > 0 {
			live++
		}
		if b.cached && p.cache[b.hash] != int32(i) {
			t.Fatalf("block %d is cached under a hash that leads elsewhere", i)
		}
		if b.withheld && b.cached {
			t.Fatalf("withheld block %d still answers look-ups", i)
		}
	}
	n, prev := 0, int32(none)
	for i := p.head; i != none; i = p.blocks[i].next {
		if p.blocks[i].prev != prev || !p.blocks[i].listed {
			t.Fatalf("the free list is broken at block %d", i)
		}
		prev = i
		n++
	}
	if n != p.free || p.tail != prev || live != p.Live() {
		t.Fatalf("free list holds %d, free says %d; %d live, Live says %d", n, p.free, live, p.Live())
	}
	for h, i := range p.cache {
		if !p.blocks[i].cached || p.blocks[i].hash != h {
			t.Fatalf("the cache leads to block %d, which does not know", i)
		}
	}
	if p.debt > 0 && (p.free > 0 || p.Live()-p.Usable() != p.debt) {
		t.Fatalf("debt %d with %d free, %d live, %d usable", p.debt, p.free, p.Live(), p.Usable())
	}
}

func TestRandomLives(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := New(1 + r.IntN(24))
		var owners [][]int32
		want := len(p.blocks)
		for range 400 {
			switch r.IntN(8) {
			case 0:
				want = 1 + r.IntN(len(p.blocks)+3)
				p.Limit(want)
				want = min(want, len(p.blocks))
				if p.Usable() != want {
					t.Fatalf("limit %d leaves %d usable", want, p.Usable())
				}
			case 1, 2, 3:
				if len(owners) > 0 {
					k := r.IntN(len(owners))
					p.Release(owners[k])
					owners = append(owners[:k], owners[k+1:]...)
				}
			default:
				// Few distinct chains, so that prefixes are shared.
				var hs []Hash
				var h Hash
				for range r.IntN(5) {
					h = Chain(h, []int32{int32(r.IntN(2))})
					hs = append(hs, h)
				}
				found := p.Lookup(hs)
				free, live := p.Free(), p.Live()
				fresh, ok := p.Claim(found, len(hs)-len(found)+r.IntN(2))
				if !ok {
					if p.Free() != free || p.Live() != live {
						t.Fatal("a refused claim changed the pool")
					}
					break
				}
				own := append(append([]int32{}, found...), fresh...)
				for i := range hs {
					p.Cache(own[i], hs[i])
				}
				if len(own) > 0 {
					owners = append(owners, own)
				}
			}
			check(t, p, owners)
		}
		for _, o := range owners {
			p.Release(o)
		}
		check(t, p, nil)
		if p.Live() != 0 || p.Debt() != 0 || p.Free() != want {
			t.Fatalf("at the end %d live, %d free, want 0 and %d", p.Live(), p.Free(), want)
		}
	}
}

func TestLeastRecentlyUsedGoesFirst(t *testing.T) {
	p := New(4)
	h1 := Chain(Hash{}, []int32{1})
	h2 := Chain(h1, []int32{2})
	g1 := Chain(Hash{}, []int32{9})
	a, _ := p.Claim(nil, 2)
	p.Cache(a[0], h1)
	p.Cache(a[1], h2)
	b, _ := p.Claim(nil, 1)
	p.Cache(b[0], g1)
	p.Release(a)
	p.Release(b)
	if got := p.Lookup([]Hash{h1, h2}); len(got) != 2 || got[0] != a[0] || got[1] != a[1] {
		t.Fatalf("released blocks are not found: %v", got)
	}
	// One never used block goes first, then the tail of the older sequence.
	if _, ok := p.Claim(nil, 2); !ok {
		t.Fatal("two of four free blocks were refused")
	}
	if got := p.Lookup([]Hash{h1, h2}); len(got) != 1 {
		t.Errorf("the prefix keeps %d blocks, want 1: its tail goes first", len(got))
	}
	if got := p.Lookup([]Hash{g1}); len(got) != 1 {
		t.Error("the younger sequence was evicted before the older")
	}
	if _, ok := p.Claim(p.Lookup([]Hash{h1}), 2); ok {
		t.Error("a claim that counts cached free blocks twice was granted")
	}
}

func TestChainDependsOnEverythingBefore(t *testing.T) {
	a := Chain(Hash{}, []int32{1, 2})
	if a == Chain(Hash{}, []int32{2, 1}) || Chain(a, []int32{3}) == Chain(Hash{}, []int32{3}) || a != Chain(Hash{}, []int32{1, 2}) {
		t.Error("block hashes collide or change")
	}
}

func TestSharedBlockNeedsBothReleases(t *testing.T) {
	p := New(2)
	h := Chain(Hash{}, []int32{1})
	a, _ := p.Claim(nil, 1)
	p.Cache(a[0], h)
	if _, ok := p.Claim(p.Lookup([]Hash{h}), 0); !ok {
		t.Fatal("a live cached block was refused")
	}
	p.Release(a)
	if p.Live() != 1 {
		t.Error("the block left with its second owner still there")
	}
	p.Release(a)
	if p.Live() != 0 || len(p.Lookup([]Hash{h})) != 1 {
		t.Error("a free block must stay cached")
	}
	p.DropCached()
	if len(p.Lookup([]Hash{h})) != 0 {
		t.Error("DropCached left a prefix behind")
	}
	defer func() {
		if recover() == nil {
			t.Error("a double release passed")
		}
	}()
	p.Release(a)
}
