package kube

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// ReadOnly is a copy of a configuration whose clients can do nothing but read: whatever else they try fails before it
// leaves the process.
func ReadOnly(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return readOnly{next} })
	return c
}

type readOnly struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, fmt.Errorf("%s %s is refused: this process only reads", request.Method, request.URL.Path)
	}
	return r.next.RoundTrip(request)
}
