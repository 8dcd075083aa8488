package capacity

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestQuantitiesThatDoNotFitStayLarge(t *testing.T) {
	for name, c := range map[string]struct {
		cpu  string
		want int64
	}{
		"a core is a thousand":                  {"1", 1000},
		"a part of a milli counts as one":       {"100u", 1},
		"an exa core stays the most":            {"1E", math.MaxInt64},
		"ten exa cores stay the most":           {"10E", math.MaxInt64},
		"the largest int64 of cores stays most": {"9223372036854775807", math.MaxInt64},
		"a negative amount stays negative":      {"-5", -5000},
		"a huge negative one too":               {"-100E", -math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)}
			require.Equal(t, c.want, ResourcesOf(list).MilliCPU)
		})
	}
	r := ResourcesOf(corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("10E"), "example.com/gpu": resource.MustParse("100E"),
	})
	require.Equal(t, Resources{
		Memory: math.MaxInt64, Scalar: map[corev1.ResourceName]int64{"example.com/gpu": math.MaxInt64},
	}, r)
}
