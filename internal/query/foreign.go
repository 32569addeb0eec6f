package query

import (
	"slices"

	"sightline/internal/model"
	"sightline/internal/signals"
)

// ours keeps the series that the rules of this server record. Copies of them
// come back when another server federates from here and writes here again, or
// a target exposes such names; they carry labels that no canonical series has,
// and would show as second lines of the same thing. They stay usable in PromQL.
func (q *Query) ours(got []model.Series) []model.Series {
	return slices.DeleteFunc(got, func(s model.Series) bool {
		sig, level, err := q.cat.Lookup(s.Labels["__name__"])
		if err != nil { // a relation
			_, copied := s.Labels["job"]
			return copied
		}
		id := signals.Identity(level)
		for name := range s.Labels {
			if name != "__name__" && name != model.LabelSimulated && !slices.Contains(id, name) && !slices.Contains(sig.Labels, name) {
				return true
			}
		}
		return false
	})
}
