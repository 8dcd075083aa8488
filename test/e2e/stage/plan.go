package stage

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/muster-sh/muster/api/v1alpha1"
)

// Plan asks `muster plan` what it would buy for these pods as they were created, on the nodes that are none of Muster's
// own, beside the pods and DaemonSets that were there. The answer counts machines by "pool/shape".
func (s *Stage) Plan(pools []*v1alpha1.NodePool, pods []*corev1.Pod) map[string]int {
	s.T.Helper()
	poolsFile, clusterFile := filepath.Join(s.Logs, "plan-pools.yaml"), filepath.Join(s.Logs, "plan-cluster.yaml")
	var objects []client.Object
	for _, p := range pools {
		objects = append(objects, p)
	}
	s.write(poolsFile, append(objects, s.provider()))
	s.write(clusterFile, s.before(pods))
	text, err := s.Kit.Muster(s.Ctx, "plan", "--pools", poolsFile, "--cluster", clusterFile, "--output", "json")
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(filepath.Join(s.Logs, "plan.json"), text, 0o644))
	var plan struct {
		Machines []struct {
			Pool  string `json:"pool"`
			Shape string `json:"shape"`
		} `json:"machines"`
	}
	require.NoError(s.T, json.Unmarshal(text, &plan))
	bought := map[string]int{}
	for _, m := range plan.Machines {
		bought[m.Pool+"/"+m.Shape]++
	}
	return bought
}

func (s *Stage) provider() *v1alpha1.Provider {
	s.T.Helper()
	var p v1alpha1.Provider
	require.NoError(s.T, s.Plane.Objects.Get(s.Ctx, client.ObjectKey{Name: SimProvider}, &p))
	return &p
}

// before is the cluster as it was when the pods were created and nothing had been done for them.
func (s *Stage) before(pods []*corev1.Pod) []client.Object {
	s.T.Helper()
	var objects []client.Object
	nodes, err := s.Plane.Client.CoreV1().Nodes().List(s.Ctx, metav1.ListOptions{LabelSelector: "!" + v1alpha1.ClaimLabel})
	require.NoError(s.T, err)
	there := map[string]bool{}
	for i, n := range nodes.Items {
		there[n.Name] = true
		objects = append(objects, &nodes.Items[i])
	}
	asked := map[types.UID]bool{}
	for _, p := range pods {
		asked[p.UID] = true
		objects = append(objects, p)
	}
	all, err := s.Plane.Client.CoreV1().Pods("").List(s.Ctx, metav1.ListOptions{})
	require.NoError(s.T, err)
	for i, p := range all.Items {
		if !asked[p.UID] && there[p.Spec.NodeName] {
			objects = append(objects, &all.Items[i])
		}
	}
	daemons, err := s.Plane.Client.AppsV1().DaemonSets("").List(s.Ctx, metav1.ListOptions{})
	require.NoError(s.T, err)
	for i := range daemons.Items {
		objects = append(objects, &daemons.Items[i])
	}
	return objects
}

// SavePools writes a file for `muster plan --pools`.
func (s *Stage) SavePools(file string) {
	s.T.Helper()
	var pools v1alpha1.NodePoolList
	require.NoError(s.T, s.Plane.Objects.List(s.Ctx, &pools))
	objects := []client.Object{s.provider()}
	for i := range pools.Items {
		objects = append(objects, &pools.Items[i])
	}
	s.write(file, objects)
}

// SaveCluster writes a file for `muster plan --cluster` with everything there is now that a plan may want to know.
func (s *Stage) SaveCluster(file string) {
	s.T.Helper()
	var objects []client.Object
	for _, list := range []client.ObjectList{
		&corev1.NamespaceList{}, &corev1.NodeList{}, &corev1.PodList{}, &appsv1.DaemonSetList{}, &v1alpha1.NodeClaimList{},
		&storagev1.StorageClassList{}, &storagev1.CSINodeList{}, &corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{},
	} {
		require.NoError(s.T, s.Plane.Objects.List(s.Ctx, list))
		items, err := apimeta.ExtractList(list)
		require.NoError(s.T, err)
		for _, item := range items {
			objects = append(objects, item.(client.Object))
		}
	}
	s.write(file, objects)
}

// write saves objects as `kubectl get -o yaml` would.
func (s *Stage) write(file string, objects []client.Object) {
	s.T.Helper()
	list := &metav1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for _, o := range objects {
		o = o.DeepCopyObject().(client.Object)
		kind, err := apiutil.GVKForObject(o, s.Plane.Objects.Scheme())
		require.NoError(s.T, err)
		o.GetObjectKind().SetGroupVersionKind(kind)
		o.SetManagedFields(nil)
		list.Items = append(list.Items, runtime.RawExtension{Object: o})
	}
	text, err := yaml.Marshal(list)
	require.NoError(s.T, err)
	require.NoError(s.T, os.WriteFile(file, text, 0o644))
}
