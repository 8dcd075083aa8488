package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// idleProgram is `muster serve` that records, with its default flags otherwise and an API server that nobody ever calls.
func idleProgram(t *testing.T) *program {
	t.Helper()
	var f serveFlags
	f.register(&cobra.Command{})
	f.record.folder = t.TempDir()
	p, err := newProgram(t.Context(), f, &rest.Config{Host: "https://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(p.hosts.end)
	t.Cleanup(func() { require.NoError(t, p.recorder.Close()) })
	p.handler()
	return p
}

// idleShadow is `muster serve --shadow` beside an API server that nobody ever calls.
func idleShadow(t *testing.T) *shadowProgram {
	t.Helper()
	p, err := newShadowProgram(shadowFlagsOf(t), &rest.Config{Host: "https://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	p.handler()
	return p
}

var descPattern = regexp.MustCompile(`^Desc\{fqName: "(muster_[a-z_]+)", help: "([^"]+)", .*variableLabels: \{([a-z_,]*)\}\}$`)

// exported are the metrics that Muster registers, by name, with their labels.
func exported(t *testing.T, r *prometheus.Registry) map[string]string {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	r.Describe(descs)
	close(descs)
	all := map[string]string{}
	for d := range descs {
		if m := descPattern.FindStringSubmatch(d.String()); m != nil {
			all[m[1]] = strings.Join(strings.Split(m[3], ","), ", ")
		}
	}
	return all
}

var rowPattern = regexp.MustCompile("(?m)^\\| `(muster_[a-z_]+)` \\| (counter|gauge|histogram) \\| ([a-z_, ]*?) ?\\| [^|]+ \\|$")

func TestThePageOfMetricsIsWhatIsExported(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	require.NoError(t, err)
	rows := map[string]string{}
	for _, row := range rowPattern.FindAllStringSubmatch(string(page), -1) {
		require.NotContains(t, rows, row[1])
		rows[row[1]] = row[3]
		want := "gauge"
		switch {
		case strings.HasSuffix(row[1], "_duration_seconds"):
			want = "histogram"
		case strings.HasSuffix(row[1], "_total"):
			want = "counter"
		}
		require.Equal(t, want, row[2], row[1])
	}
	registered := exported(t, idleProgram(t).metrics)
	maps.Copy(registered, exported(t, idleShadow(t).metrics))
	require.Equal(t, registered, rows)
}

var usePattern = regexp.MustCompile(`muster_[a-z_]+`)

func TestTheDashboardShowsWhatIsExported(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "dashboards", "muster.json"))
	require.NoError(t, err)
	known := exported(t, idleProgram(t).metrics)
	used := map[string]bool{}
	for _, name := range usePattern.FindAllString(string(text), -1) {
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, suffix)
		}
		require.Contains(t, known, name)
		used[name] = true
	}
	require.Greater(t, len(used), 20, fmt.Sprint(used))
}
