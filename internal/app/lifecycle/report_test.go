package lifecycle

import (
	"errors"
	"strings"
	"testing"

	"sightline/internal/model"
)

func TestReportGivesEachFaultItsLineAndCode(t *testing.T) {
	var b strings.Builder
	Report(&b, "sightline", errors.Join(&model.Problem{Code: "port_in_use", Text: "port 1 is taken"}, errors.New("boom")))
	if want := "sightline: port 1 is taken [port_in_use]\nsightline: boom [internal]\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
