package model

// Point is one value of a series. T is milliseconds since the Unix epoch, as
// the store keeps it. A point that does not exist is absent, never zero.
type Point struct {
	T int64
	V float64
}

// Series is a labelled run of points in time order, the form in which query
// results travel between packages that do not know the store.
type Series struct {
	Labels map[string]string
	Points []Point
}
