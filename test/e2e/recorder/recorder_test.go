package recorder

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeepsTheFirstRequestOfAKindAndPassesAll(t *testing.T) {
	calls := 0
	muster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.URL.Path+" "+string(body))
	}))
	defer muster.Close()
	target, err := url.Parse(muster.URL)
	require.NoError(t, err)
	r := New("names")
	r.Forward(target, nil)
	front := httptest.NewServer(r)
	defer front.Close()

	for _, body := range []string{
		`{"Pod":{"metadata":{"name":"a","labels":{"e2e.muster.sh/kind":"plain"}}},"NodeNames":["n1"]}`,
		`{"Pod":{"metadata":{"name":"b","labels":{"e2e.muster.sh/kind":"plain"}}},"NodeNames":["n2"]}`,
		`{"Pod":{"metadata":{"name":"c"}},"NodeNames":["n3"]}`,
	} {
		answer, err := http.Post(front.URL+"/place/filter", "application/json", strings.NewReader(body))
		require.NoError(t, err)
		got, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, "/place/filter "+body, string(got), "the answer passes unchanged")
	}
	require.Equal(t, 3, calls)
	names, err := r.Names("filter")
	require.NoError(t, err)
	require.Equal(t, []string{"place-filter-plain-names"}, names)

	dir := t.TempDir()
	require.NoError(t, r.Save(dir))
	text, err := os.ReadFile(filepath.Join(dir, "place-filter-plain-names.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"path": "/place/filter"`)
	require.Contains(t, string(text), `"n1"`)
	require.NotContains(t, string(text), `"n2"`)
}
