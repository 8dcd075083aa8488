package amount

import (
	"strings"
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
		"an exa core stays the most":            {"1E", most},
		"ten exa cores stay the most":           {"10E", most},
		"the largest int64 of cores stays most": {"9223372036854775807", most},
		"a negative amount stays negative":      {"-5", -5000},
		"a huge negative one too":               {"-100E", -most},
	} {
		t.Run(name, func(t *testing.T) {
			list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)}
			require.Equal(t, c.want, Of(list).MilliCPU)
		})
	}
	r := Of(corev1.ResourceList{
		corev1.ResourceMemory: resource.MustParse("10E"), "example.com/gpu": resource.MustParse("100E"),
	})
	require.Equal(t, Resources{
		Memory: most, Scalar: map[corev1.ResourceName]int64{"example.com/gpu": most},
	}, r)
}

func TestExponentsThatNobodyCanWorkWith(t *testing.T) {
	for text, want := range map[string]int64{
		"1E1001000000": most, "-1E1001000000": -most, "E1001000000": 0, "0E1001000000": 0, "1e18": most, "1e3": 1000, "-1e3": -1000,
		"0": 0, "0.5": 1, "1e-3": 1, "12345678901234567890": most,
	} {
		q := resource.MustParse(text)
		require.Equal(t, want, wholeOf(q), text)
		require.Equal(t, !strings.HasSuffix(text, "E1001000000"), Countable(q), text)
	}
	for _, text := range []string{"1E1001000000", "-1E1001000000"} {
		_, sound := Requested(pod("cpu", text))
		require.False(t, sound, text)
	}
	p := pod("cpu", "0E1001000000", "memory", "1Gi")
	asked, sound := Requested(p)
	require.True(t, sound)
	require.Equal(t, Resources{Memory: 1 << 30, Pods: 1}, asked)
	require.Equal(t, Resources{Memory: 1 << 30, Pods: 1}, Used(p))
}
