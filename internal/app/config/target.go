package config

import (
	"regexp"
	"strings"

	"sightline/internal/model"
)

var serviceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// ParseTarget reads what stands behind --target: URL, or SERVICE=URL. The
// service comes first because a URL may hold an equals sign in its query.
func ParseTarget(s string) (Target, error) {
	t := Target{URL: s}
	if service, u, found := strings.Cut(s, "="); found && serviceName.MatchString(service) {
		t.Service, t.URL = service, u
	}
	if err := checkTargetURL(t.URL); err != nil {
		return t, &model.Problem{Code: "target_invalid", Text: "--target " + err.Error(), Hint: "for example --target vision=http://HOST:8002/metrics"}
	}
	return t, nil
}
