package manifest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manyPods is what `kubectl get pods -o json` writes for n pods, about 1 KB each.
func manyPods(b *testing.B, n int) []byte {
	b.Helper()
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for i := range n {
		list.Items = append(list.Items, corev1.Pod{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p-%d", i), Namespace: "default", Labels: map[string]string{"app": "x"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("1Gi")},
			}}}, Tolerations: []corev1.Toleration{{Key: "a", Operator: "Exists"}}},
		})
	}
	text, err := json.MarshalIndent(list, "", "  ")
	require.NoError(b, err)
	return text
}

func BenchmarkReadCluster(b *testing.B) {
	asJSON := manyPods(b, 10_000)
	asYAML, err := yaml.JSONToYAML(asJSON)
	require.NoError(b, err)
	for name, text := range map[string][]byte{"json": asJSON, "yaml": asYAML} {
		b.Run(name+"/pods=10000", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				got, err := readCluster([]source{{file: "f", text: text}})
				require.NoError(b, err)
				require.Len(b, got.Pods, 10_000)
			}
		})
	}
}
