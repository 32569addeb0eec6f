// Package kvcache hands out the blocks of a paged key/value cache: reference
// counts, a prefix cache over full blocks and eviction of the least recently
// used. It knows block numbers, not their contents. One goroutine uses a Pool.
package kvcache

import (
	"crypto/sha256"
	"encoding/binary"
)

// Hash names the contents of a full block together with everything before it.
type Hash [sha256.Size]byte

// Chain hashes a block of tokens that follows the blocks named by parent; the
// first block of a sequence has the zero Hash as parent.
func Chain(parent Hash, tokens []int32) Hash {
	buf := make([]byte, len(parent)+4*len(tokens))
	copy(buf, parent[:])
	for i, t := range tokens {
		binary.LittleEndian.PutUint32(buf[len(parent)+4*i:], uint32(t))
	}
	return sha256.Sum256(buf)
}

const none = -1

type block struct {
	refs       int
	prev, next int32 // in the free list, when on it
	listed     bool  // on the free list
	withheld   bool
	cached     bool // hash is valid and registered
	hash       Hash
}

// Pool is the book-keeping of a fixed number of blocks. A block is live
// (referenced), free (possibly still holding a cached prefix) or withheld.
type Pool struct {
	blocks     []block
	head, tail int32 // free list, least recently used first
	free       int
	withheld   []int32
	debt       int // blocks to withhold as soon as they are released
	cache      map[Hash]int32
}

// New returns a pool of n free blocks.
func New(n int) *Pool {
	p := &Pool{blocks: make([]block, n), head: none, tail: none, cache: map[Hash]int32{}}
	for i := range n {
		p.push(int32(i))
	}
	return p
}

func (p *Pool) push(i int32) {
	b := &p.blocks[i]
	b.listed, b.prev, b.next = true, p.tail, none
	if p.tail == none {
		p.head = i
	} else {
		p.blocks[p.tail].next = i
	}
	p.tail = i
	p.free++
}

func (p *Pool) unlink(i int32) {
	b := &p.blocks[i]
	if b.prev == none {
		p.head = b.next
	} else {
		p.blocks[b.prev].next = b.next
	}
	if b.next == none {
		p.tail = b.prev
	} else {
		p.blocks[b.next].prev = b.prev
	}
	b.listed = false
	p.free--
}

func (p *Pool) forget(i int32) {
	b := &p.blocks[i]
	if b.cached {
		delete(p.cache, b.hash)
		b.cached = false
	}
}

// Usable is the number of blocks that are not withheld, and Live how many of
// them are referenced. While a limit is being reached Live may exceed Usable.
func (p *Pool) Usable() int { return len(p.blocks) - len(p.withheld) - p.debt }

// Live is the number of referenced blocks.
func (p *Pool) Live() int { return len(p.blocks) - len(p.withheld) - p.free }

// Free is the number of blocks that can be had now, cached ones included.
func (p *Pool) Free() int { return p.free }

// Debt is by how many blocks the live ones exceed the limit.
func (p *Pool) Debt() int { return p.debt }

// Limit makes n blocks usable, at least one and at most all. Free blocks are
// withheld at once, the least recently used first; live ones when released.
func (p *Pool) Limit(n int) {
	n = max(1, min(n, len(p.blocks)))
	p.debt = 0
	for len(p.blocks)-len(p.withheld) < n {
		i := p.withheld[len(p.withheld)-1]
		p.withheld = p.withheld[:len(p.withheld)-1]
		p.blocks[i].withheld = false
		p.push(i)
	}
	for len(p.blocks)-len(p.withheld) > n {
		if p.free == 0 {
			p.debt = len(p.blocks) - len(p.withheld) - n
			return
		}
		i := p.head
		p.unlink(i)
		p.withhold(i)
	}
}

func (p *Pool) withhold(i int32) {
	p.forget(i)
	p.blocks[i].withheld = true
	p.withheld = append(p.withheld, i)
}

// Lookup returns the blocks that hold the longest cached prefix of the chain of
// hashes. It takes no reference.
func (p *Pool) Lookup(hashes []Hash) []int32 {
	var out []int32
	for _, h := range hashes {
		i, ok := p.cache[h]
		if !ok {
			break
		}
		out = append(out, i)
	}
	return out
}

// Claim takes a reference on each of the found blocks and n fresh ones, all or
// nothing, and returns the fresh ones. Fresh blocks are the least recently used
// free ones; what they cached is forgotten.
func (p *Pool) Claim(found []int32, n int) ([]int32, bool) {
	need := n
	for _, i := range found {
		if p.blocks[i].refs == 0 {
			need++
		}
	}
	if p.debt > 0 || need > p.free {
		return nil, false
	}
	for _, i := range found {
		if p.blocks[i].refs == 0 {
			p.unlink(i)
		}
		p.blocks[i].refs++
	}
	fresh := make([]int32, 0, n)
	for range n {
		i := p.head
		p.unlink(i)
		p.forget(i)
		p.blocks[i].refs = 1
		fresh = append(fresh, i)
	}
	return fresh, true
}

// Cache registers a live, full block under its hash. When another block holds
// the same contents already, that one stays the cached one.
func (p *Pool) Cache(i int32, h Hash) {
	if _, taken := p.cache[h]; taken || p.blocks[i].refs == 0 {
		return
	}
	p.forget(i)
	p.blocks[i].hash, p.blocks[i].cached = h, true
	p.cache[h] = i
}

// Release gives back one reference on each block of a sequence. The end of the
// sequence becomes the first to be evicted: a prefix is worth more than a tail.
func (p *Pool) Release(blocks []int32) {
	for k := len(blocks) - 1; k >= 0; k-- {
		b := &p.blocks[blocks[k]]
		if b.refs == 0 {
			panic("kvcache: a block was released twice")
		}
		if b.refs--; b.refs > 0 {
			continue
		}
		if p.debt > 0 {
			p.debt--
			p.withhold(blocks[k])
			continue
		}
		p.push(blocks[k])
	}
}

// DropCached forgets every cached prefix; live blocks stay with their owners.
func (p *Pool) DropCached() {
	for i := range p.blocks {
		p.forget(int32(i))
	}
}
