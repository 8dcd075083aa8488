package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/capacity/control"
)

// wallClock are the files of the program and its loops that may read the wall clock, and why it may be set under them.
var wallClock = map[string]string{
	"capacity/control/clock.go":     "the clock of the process is made there",
	"capacity/control/run.go":       "the wall clock is compared with it; without a clock, tests run on fake time",
	"capacity/kube/cluster.go":      "the default of Now",
	"capacity/kube/feed.go":         "the default of Now",
	"capacity/kube/lead.go":         "the default of Now",
	"cmd/muster/program.go":         "the offset is a metric",
	"cmd/muster/instrument.go":      "how long a call took",
	"cmd/muster/proxmox_metrics.go": "how long a call took",
	"cmd/muster/record.go":          "recordings say what people's clocks said",
	"cmd/muster/shadow.go":          "nothing is done in shadow mode",
	"cmd/muster/sim.go":             "muster sim is a program of its own",
	"cmd/muster/demo.go":            "another command",
	"cmd/muster/doctor.go":          "another command",
	"cmd/muster/plan.go":            "another command",
	"cmd/muster/probe.go":           "another command",
	"cmd/muster/probe_many.go":      "another command",
	"cmd/muster/replay_progress.go": "another command",
	"cmd/muster/freeze.go":          "another command",
	"cmd/muster/waiting.go":         "another command",
}

// Whatever `muster serve` waits for is measured by one clock. What reads another one is listed with its reason.
func TestM19ServeHasOneClock(t *testing.T) {
	for _, dir := range []string{"cmd/muster", "capacity/control", "capacity/kube"} {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			require.NoError(t, err)
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, is := s.X.(*ast.Ident); is && x.Name == "time" && s.Sel.Name == "Now" {
					require.Contains(t, wallClock, dir+"/"+filepath.Base(file), "%s reads the wall clock: take the clock of the process", file)
				}
				return true
			})
		}
	}
	program, err := os.ReadFile("program.go")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(program), "time.Now"), "only the metric compares the clocks")
}

func TestTheOffsetOfTheClockIsTold(t *testing.T) {
	clock := control.NewClock(time.Now().Add(-time.Hour), func() time.Duration { return 0 })
	require.InDelta(t, time.Hour.Seconds(), testutil.ToFloat64(clockOffset(clock)), 60)
}
