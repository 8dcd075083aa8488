package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/muster-sh/muster/api/v1alpha1"
)

func span(least, most, step string) v1alpha1.QuantityRange {
	return v1alpha1.QuantityRange{
		Min: resource.MustParse(least), Max: resource.MustParse(most), Step: resource.MustParse(step),
	}
}

const gi = 1 << 30

func TestSizesOfARange(t *testing.T) {
	usual := SizesOf(&v1alpha1.ShapeRange{
		CPU: span("2", "15", "2"), Memory: span("4Gi", "64Gi", "4Gi"), Resources: list("example.com/gpu", "1"),
	})
	for name, c := range map[string]struct {
		ask         func(cpu, memory int64) (v1alpha1.Shape, bool)
		cpu, memory int64
		want        string // no size when empty
	}{
		"the largest is the last step below max":          {usual.Largest, math.MaxInt64, math.MaxInt64, "14cpu-64gi"},
		"the largest within a bound is a step":            {usual.Largest, 9_999, 11 * gi, "8cpu-8gi"},
		"the largest within exactly a step is that step":  {usual.Largest, 8_000, 8 * gi, "8cpu-8gi"},
		"there is none within less than the smallest cpu": {usual.Largest, 1_999, math.MaxInt64, ""},
		"there is none within less memory either":         {usual.Largest, math.MaxInt64, 4*gi - 1, ""},
		"there is none within a negative bound":           {usual.Largest, -1, math.MaxInt64, ""},
		"the smallest with nothing in it":                 {usual.Smallest, 0, 0, "2cpu-4gi"},
		"the smallest that holds a bit more than a step":  {usual.Smallest, 2_001, 4*gi + 1, "4cpu-8gi"},
		"the smallest that holds exactly a step":          {usual.Smallest, 4_000, 8 * gi, "4cpu-8gi"},
		"no size holds more than the last step below max": {usual.Smallest, 14_001, 0, ""},
		"no size holds more memory than max":              {usual.Smallest, 0, 64*gi + 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			shape, ok := c.ask(c.cpu, c.memory)
			require.Equal(t, c.want != "", ok)
			if ok {
				require.Equal(t, c.want, shape.Name)
				require.Equal(t, int64(1), shape.Resources.Name("example.com/gpu", resource.DecimalSI).Value())
			}
		})
	}
}

func TestSizesNames(t *testing.T) {
	for want, c := range map[string][2]int64{
		"500mcpu-1536mi": {500, 1536 << 20}, "1cpu-3ki": {1000, 3 << 10}, "2cpu-1000000001": {2000, 1_000_000_001},
	} {
		require.Equal(t, want, sizeName(c[0], c[1]))
	}
}

func TestSizesWithoutStepsAreNone(t *testing.T) {
	s := SizesOf(&v1alpha1.ShapeRange{})
	_, ok := s.Largest(math.MaxInt64, math.MaxInt64)
	require.False(t, ok)
	_, ok = s.Smallest(0, 0)
	require.False(t, ok)
}

// FuzzSizes: what Largest gives is within the bound, what Smallest gives holds what was asked, and both are steps.
func FuzzSizes(f *testing.F) {
	f.Add(int64(2), int64(16), int64(2), int64(7))
	f.Add(int64(1), int64(math.MaxInt64), int64(1), int64(math.MaxInt64))
	f.Add(int64(1), int64(math.MaxInt64-3), int64(97), int64(math.MaxInt64-88))
	f.Fuzz(func(t *testing.T, least, most, step, v int64) {
		s := steps{min: least, step: step, max: most}
		if got, ok := s.atMost(v); ok && (got > v || got > most || got < least || (got-least)%step != 0) {
			t.Fatalf("atMost(%d) of %+v is %d", v, s, got)
		}
		if got, ok := s.atLeast(v); ok && (got < v || got > most || got < least || (got-least)%step != 0) {
			t.Fatalf("atLeast(%d) of %+v is %d", v, s, got)
		}
	})
}
