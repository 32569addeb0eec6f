package lifecycle

import (
	"errors"
	"fmt"
	"io"

	"sightline/internal/model"
)

// Report prints each fault of err on a line of its own, as a command says it:
// the program, the sentence, and the code for machines in brackets.
func Report(w io.Writer, program string, err error) {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		for _, e := range many.Unwrap() {
			Report(w, program, e)
		}
		return
	}
	fmt.Fprintf(w, "%s: %v [%s]\n", program, err, model.CodeOf(err))
}
