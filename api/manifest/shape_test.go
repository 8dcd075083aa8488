package manifest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const goodApps = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  template:
    spec:
      containers: [{name: c, resources: {requests: {cpu: 1}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: night}
spec:
  template: {spec: {containers: [{name: c}]}}
`

const goodShape = `apiVersion: muster.sh/v1alpha1
kind: LoadShape
spec:
  length: 48h
  workloads:
  - kind: Deployment
    name: web
    every: 24h
    jitter: 5m
    points: [{at: "08:00", scale: 2}, {at: 22h, replicas: 0}]
  - {kind: Job, name: report, namespace: night, perHour: 4, runs: {median: 5m, p90: 1h}}
`

func loadOf(t testing.TB, text string, lenient bool) (*Load, error) {
	t.Helper()
	return readLoad(lenient, []source{{file: "apps.yaml", text: []byte(text)}})
}

func shapeOf(t testing.TB, text string, lenient bool) (*Shape, int, error) {
	t.Helper()
	load, err := loadOf(t, goodApps, false)
	require.NoError(t, err)
	return readShape([]source{{file: "day.yaml", text: []byte(text)}}, load, lenient)
}

func TestWorkloadsAreRead(t *testing.T) {
	load, err := loadOf(t, goodApps, false)
	require.NoError(t, err)
	require.Equal(t, "Deployment default/web", load.Workloads[0].String())
	require.Equal(t, 3, load.Workloads[0].Replicas)
	require.Equal(t, "Job night/report", load.Workloads[1].String())
	require.Equal(t, 1, load.Workloads[1].Replicas)
	require.Equal(t, 10, load.Workloads[1].Line)
}

func TestShapesAreRead(t *testing.T) {
	s, _, err := shapeOf(t, goodShape, false)
	require.NoError(t, err)
	require.Equal(t, 48*time.Hour, s.Spec.Length.Duration)
	web := s.Spec.Workloads[0]
	require.Equal(t, "web", web.Workload.Name)
	require.Equal(t, []time.Duration{8 * time.Hour, 22 * time.Hour}, []time.Duration{web.Points[0].At.Duration, web.Points[1].At.Duration})
}

// Every mistake names file, line, field and what is accepted.
func TestMistakesInShapes(t *testing.T) {
	for want, edit := range map[string][2]string{
		`day.yaml:4: spec.length: Invalid value: 0s: use a duration above zero, at most 8784h0m0s, such as 72h`:                                              {"length: 48h", "length: 0s"},
		`day.yaml:4: spec.length: Invalid value: "2 days": must be a duration such as 90m or 24h, or a time of the day such as 08:00`:                        {"length: 48h", "length: 2 days"},
		`day.yaml:7: spec.workloads[0].name: Not found: Deployment default/shop: the manifests have Deployment default/web, Job night/report`:                {"name: web", "name: shop"},
		`day.yaml:10: spec.workloads[0].points[0].at: Invalid value: "8 o'clock": must be a duration such as 90m or 24h, or a time of the day such as 08:00`: {`"08:00"`, `"8 o'clock"`},
		`day.yaml:10: spec.workloads[0].points[1].at: Invalid value: 7h0m0s: use a time after that of the point before`:                                      {"at: 22h", "at: 7h"},
		`day.yaml:10: spec.workloads[0].points[1].at: Invalid value: 25h0m0s: use a time before every (24h0m0s)`:                                             {"at: 22h", "at: 25h"},
		`day.yaml:10: spec.workloads[0].points[0]: Required value: give either replicas or scale`:                                                            {"scale: 2", "scale: 2, replicas: 1"},
		`day.yaml:10: spec.workloads[0].points[0].scale: Invalid value: -1: use a factor from 0 to 1000`:                                                     {"scale: 2", "scale: -1"},
		`day.yaml:10: spec.workloads[0].points[1].replicas: Invalid value: -3: use a whole number from 0 to 100000`:                                          {"replicas: 0", "replicas: -3"},
		`day.yaml:10: spec.workloads[0].points[0].perHour: Forbidden: only Jobs run some times an hour: use replicas or scale`:                               {"scale: 2", "perHour: 2"},
		`day.yaml:9: spec.workloads[0].jitter: Invalid value: -5m0s: use a duration from 0s`:                                                                 {"jitter: 5m", "jitter: -5m"},
		`day.yaml:9: spec.workloads[0].jiter: Unknown field: did you mean jitter?`:                                                                           {"jitter: 5m", "jiter: 5m"},
		`day.yaml:11: spec.workloads[1].perHour: Invalid value: -4: use runs in an hour from 0 to 100000`:                                                    {"perHour: 4", "perHour: -4"},
		`day.yaml:11: spec.workloads[1].runs: Invalid value: use one of {fixed: 5m}, {min: 1m, max: 10m}, {mean: 5m} or`:                                     {"p90: 1h", "p90: 1m"},
		`day.yaml:11: spec.workloads[1].runs: Required value: how long its pods run: {fixed: 5m}`:                                                            {", runs: {median: 5m, p90: 1h}", ""},
		`day.yaml:5: spec.workloads: Required value: Job night/report (apps.yaml:10): say how often it runs`:                                                 {"  - {kind: Job, name: report, namespace: night, perHour: 4, runs: {median: 5m, p90: 1h}}\n", ""},
		`day.yaml:2: kind: Unsupported value: "Shape" of muster.sh/v1alpha1: use kind LoadShape of muster.sh/v1alpha1`:                                       {"LoadShape", "Shape"},
	} {
		require.Equal(t, 1, strings.Count(goodShape, edit[0]), edit[0])
		_, _, err := shapeOf(t, strings.Replace(goodShape, edit[0], edit[1], 1), false)
		require.ErrorContains(t, err, want)
	}
}

// A lenient reader leaves out objects with mistakes and entries of workloads that are not there, and counts them.
func TestLenientReadersOfLoads(t *testing.T) {
	bad := strings.Replace(goodApps, "replicas: 3", "replicas: -3", 1)
	_, err := loadOf(t, bad, false)
	require.EqualError(t, err, "apps.yaml:5: spec.replicas: Invalid value: -3: use a whole number from 0 to 100000 (Deployment default/web)")
	load, err := loadOf(t, bad, true)
	require.NoError(t, err)
	require.Len(t, load.Skipped, 1)
	require.Len(t, load.Workloads, 1)
	shape, skipped, err := readShape([]source{{file: "day.yaml", text: []byte(goodShape)}}, load, true)
	require.NoError(t, err)
	require.Equal(t, 1, skipped)
	require.Len(t, shape.Spec.Workloads, 1)
	_, err = loadOf(t, "kind: Pod\n", true)
	require.Error(t, err, "nothing is left")
}

// FuzzReadShape: whatever is read, mistakes name the file, and what is no mistake is within the bounds.
func FuzzReadShape(f *testing.F) {
	for _, s := range append(seeds, goodShape, strings.ReplaceAll(goodShape, "24h", "1ns"), fmt.Sprintf("%q", goodShape)) {
		f.Add([]byte(s))
	}
	load, err := loadOf(f, goodApps, false)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, lenient := range []bool{false, true} {
			s, _, err := readShape([]source{{file: "f", text: text}}, load, lenient)
			named(t, err)
			if err != nil {
				continue
			}
			require.Positive(t, s.Spec.Length.Duration)
			require.LessOrEqual(t, s.Spec.Length.Duration, MaxLength)
			for _, w := range s.Spec.Workloads {
				require.NotNil(t, w.Workload)
				require.True(t, w.Runs == nil || w.Runs.valid())
			}
		}
	})
}

// FuzzReadLoad: the same of manifests.
func FuzzReadLoad(f *testing.F) {
	for _, s := range append(seeds, goodApps) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := readLoad(false, []source{{file: "f", text: text}})
		named(t, err)
		lenient, problems := readLoad(true, []source{{file: "f", text: text}})
		if err == nil {
			require.NoError(t, problems)
			require.Empty(t, lenient.Skipped)
		}
		if problems != nil {
			return
		}
		for _, w := range lenient.Workloads {
			require.LessOrEqual(t, w.Replicas, MaxReplicas)
			require.NotEmpty(t, w.Template.Spec.Containers)
			for i := range w.Template.Spec.Containers {
				positive(t, w.Template.Spec.Containers[i].Resources.Requests)
			}
		}
	})
}
