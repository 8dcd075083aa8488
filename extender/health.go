package extender

import (
	"net/http"
	"strings"
)

// health answers 200 while check returns nil, and 503 with what it says otherwise. A nil check is always well.
func health(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if check != nil {
			if err := check(); err != nil {
				writeError(w, http.StatusServiceUnavailable, err.Error())
				return
			}
		}
		write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	}
}

func notFound(w http.ResponseWriter, r *http.Request) {
	writeError(w, http.StatusNotFound, "no such path: "+r.URL.Path+
		"; there are /place/{filter,prioritize}, /guard/{filter,prioritize,preempt}, /healthz and /readyz")
}

func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	allowed := http.MethodPost
	if strings.HasSuffix(r.URL.Path, "z") {
		allowed = http.MethodGet
	}
	w.Header().Set("Allow", allowed)
	writeError(w, http.StatusMethodNotAllowed, "method "+r.Method+" is not accepted here, "+allowed+" is")
}
