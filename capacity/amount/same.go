package amount

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Same compares what scheduling counts. Lists that are alike word for word are not read.
func Same(a, b corev1.ResourceList) bool {
	alike := func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 }
	return maps.EqualFunc(a, b, alike) || Of(a).Equal(Of(b))
}
