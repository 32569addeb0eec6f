package metricstore

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// source reads from whichever generation is current.
type source struct{ s *Store }

// Querier implements storage.Queryable; mint and maxt are milliseconds.
func (q source) Querier(mint, maxt int64) (storage.Querier, error) {
	g, err := q.s.join()
	if err != nil {
		return nil, err
	}
	inner, err := g.db.Querier(mint, maxt)
	if err != nil {
		g.leave()
		return nil, err
	}
	q2 := querier{Querier: inner, leave: sync.OnceFunc(g.leave)}
	if search, ok := inner.(storage.Searcher); ok {
		return &searchQuerier{querier: q2, Searcher: search}, nil
	}
	return &q2, nil
}

// ChunkQuerier implements storage.ChunkQueryable.
func (q source) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	g, err := q.s.join()
	if err != nil {
		return nil, err
	}
	inner, err := g.db.ChunkQuerier(mint, maxt)
	if err != nil {
		g.leave()
		return nil, err
	}
	return &chunkQuerier{ChunkQuerier: inner, leave: sync.OnceFunc(g.leave)}, nil
}

type querier struct {
	storage.Querier
	leave func()
}

func (q *querier) Close() error {
	defer q.leave()
	return q.Querier.Close()
}

// searchQuerier keeps the optional search face, which completion asks for.
type searchQuerier struct {
	querier
	storage.Searcher
}

type chunkQuerier struct {
	storage.ChunkQuerier
	leave func()
}

func (q *chunkQuerier) Close() error {
	defer q.leave()
	return q.ChunkQuerier.Close()
}

// exemplarSource reads exemplars from whichever generation is current.
type exemplarSource struct{ s *Store }

// ExemplarQuerier implements storage.ExemplarQueryable.
func (q exemplarSource) ExemplarQuerier(ctx context.Context) (storage.ExemplarQuerier, error) {
	return exemplarQuerier{q.s, ctx}, nil
}

// exemplarQuerier joins a generation per Select: the interface has no Close,
// and Select copies its result.
type exemplarQuerier struct {
	s   *Store
	ctx context.Context
}

func (q exemplarQuerier) Select(start, end int64, matchers ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	g, err := q.s.join()
	if err != nil {
		return nil, err
	}
	defer g.leave()
	inner, err := g.db.ExemplarQuerier(q.ctx)
	if err != nil {
		return nil, err
	}
	return inner.Select(start, end, matchers...)
}
