package manifest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

const goodCluster = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {a: b}}
  spec:
    taints:
    - {key: k, effect: NoSchedule}
  status:
    capacity: {cpu: "4", memory: 8Gi, pods: "110"}
    allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
- apiVersion: v1
  kind: Pod
  metadata:
    name: p1
  spec:
    containers:
    - name: c
      image: i
      resources:
        limits: {cpu: 500m, memory: 1Gi}
        requests: {cpu: 250m}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: d, namespace: x}
- apiVersion: v1
  kind: Service
  metadata: {name: d, namespace: x}
`

func clusterFrom(text string) (*Cluster, error) {
	return readCluster([]source{{file: "cluster.yaml", text: []byte(text)}})
}

func TestAClusterByHandGetsWhatTheAPIServerWouldGive(t *testing.T) {
	got, err := clusterFrom(goodCluster)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"Deployment.apps": 1, "Service": 1}, got.Ignored)
	require.Len(t, got.Nodes, 1)
	require.Equal(t, "n1", string(got.Nodes[0].UID))
	pod := got.Pods[0]
	require.Equal(t, "default", pod.Namespace)
	require.Equal(t, "default/p1", string(pod.UID))
	require.Equal(t, corev1.PodPending, pod.Status.Phase)
	require.Equal(t, "default-scheduler", pod.Spec.SchedulerName)
	requests := pod.Spec.Containers[0].Resources.Requests
	require.EqualValues(t, 250, requests.Cpu().MilliValue(), "a request that is given stays")
	require.EqualValues(t, 1<<30, requests.Memory().Value(), "a limit without a request is the request")
}

func TestEveryKindOfAPlanIsRead(t *testing.T) {
	got, err := clusterFrom(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system, uid: "7"}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers: [{name: c, image: i, resources: {limits: {cpu: 100m}}}]
---
{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {a: b}}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.org}
spec: {extendedResourceName: example.org/gpu}
---
apiVersion: muster.sh/v1alpha1
kind: NodeClaim
metadata: {name: general-000}
spec:
  pool: general
  provider: sim
  shape: small
  resources: {cpu: "2", memory: 4Gi}
  registrationTimeout: 10m
  maxAttempts: 3
status: {state: Launching}
`)
	require.NoError(t, err)
	require.EqualValues(t, "7", got.DaemonSets[0].UID)
	require.Contains(t, got.DaemonSets[0].Spec.Template.Spec.Containers[0].Resources.Requests, corev1.ResourceCPU)
	require.Equal(t, "team", got.Namespaces[0].Name)
	require.Equal(t, "example.org/gpu", *got.DeviceClasses[0].Spec.ExtendedResourceName)
	require.EqualValues(t, "Launching", got.Claims[0].Status.State)
	require.Empty(t, got.Ignored)
}

func TestABrokenClusterFileNamesFileLineAndField(t *testing.T) {
	const pod = " (Pod default/p1)"
	for name, c := range map[string]struct{ from, to, want string }{
		"a quantity is none": {"memory: 1Gi}", "memory: 1 Gi}",
			`cluster.yaml:22: spec.containers[0].resources.limits[memory]: Invalid value: "1 Gi": must be a quantity such as 500m, 2, "1.5" or 8Gi (Pod default/p1)`},
		"a request is negative": {"requests: {cpu: 250m}", "requests: {cpu: -250m}",
			`cluster.yaml:23: spec.containers[0].resources.requests[cpu]: Invalid value: "-250m": must not be negative` + pod},
		"a request overflows": {"requests: {cpu: 250m}", "requests: {nvidia.com/gpu: 9223372036854775808}",
			`cluster.yaml:23: spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "9223372036854775808": must fit 64 bits: at most 9223372036854775806` + pod},
		"cpu overflows in thousandths": {"requests: {cpu: 250m}", "requests: {memory: 1Gi}\n    - name: d\n      resources: {requests: {cpu: 1E}}",
			`cluster.yaml:25: spec.containers[1].resources.requests[cpu]: Invalid value: "1E": must fit 64 bits: at most 9223372036854775807m` + pod},
		"a request exceeds its limit": {"requests: {cpu: 250m}", "requests: {cpu: 1}",
			`cluster.yaml:23: spec.containers[0].resources.requests[cpu]: Invalid value: "1": must not exceed the limit of 500m` + pod},
		"a resource has no name": {"requests: {cpu: 250m}", "requests: {\"a/b/c\": 1}",
			"cluster.yaml:23: spec.containers[0].resources.requests[a/b/c]: Invalid value: a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')" + pod},
		"overhead is negative": {"    containers:", "    overhead: {cpu: -1}\n    containers:",
			`cluster.yaml:18: spec.overhead[cpu]: Invalid value: "-1": must not be negative` + pod},
		"a field is misspelled": {"      resources:", "      resource:",
			"cluster.yaml:21: spec.containers[0].resource: Unknown field: did you mean resources? (Pod default/p1)"},
		"a list is an object": {"    containers:\n    -", "    containers:\n     ",
			`cluster.yaml:18: spec.containers: Invalid value: {"image":"i","name":"c","resources":{"limits":{"cpu":"500m","mem...: must be a list (Pod default/p1)`},
		"a text is a number": {"      image: i", "      image: 7",
			"cluster.yaml:20: spec.containers[0].image: Invalid value: 7: must be a text: quote it (Pod default/p1)"},
		"a time is none": {"    name: p1", "    name: p1\n    creationTimestamp: yesterday",
			`cluster.yaml:17: metadata.creationTimestamp: Invalid value: "yesterday": must be a time such as 2026-01-31T13:30:00Z (Pod default/p1)`},
		"a number overflows its bits": {"    containers:", "    priority: 4294967296\n    containers:",
			"cluster.yaml:18: spec.priority: Invalid value: 4294967296: must be a whole number of 32 bits (Pod default/p1)"},
		"a pod has no containers": {"    containers:\n    - name: c\n      image: i\n      resources:\n        limits: {cpu: 500m, memory: 1Gi}\n        requests: {cpu: 250m}\n", "    containers: []\n",
			"cluster.yaml:18: spec.containers: Required value: at least one container" + pod},
		"a node has less than nothing": {"allocatable: {cpu: \"4\"", "allocatable: {cpu: \"-4\"",
			`cluster.yaml:12: status.allocatable[cpu]: Invalid value: "-4": must not be negative (Node n1)`},
		"a taint does nothing": {"effect: NoSchedule", "effect: NoScheduling",
			`cluster.yaml:9: spec.taints[0].effect: Unsupported value: "NoScheduling": supported are NoSchedule, PreferNoSchedule, NoExecute (Node n1)`},
		"a name stands twice": {"- apiVersion: apps/v1", "- {apiVersion: v1, kind: Node, metadata: {name: n1}}\n- apiVersion: apps/v1",
			`cluster.yaml:24: metadata.name: Duplicate value: "n1": it is at cluster.yaml:6 already (Node n1)`},
		"a version is not read": {"- apiVersion: v1\n  kind: Node", "- apiVersion: v2/v1\n  kind: Pod\n  metadata: {name: ok}\n- apiVersion: v1beta1\n  kind: Node",
			`cluster.yaml:7: apiVersion: Unsupported value: "v1beta1": Node is read from v1 (Node n1)`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, goodCluster, c.from)
			_, err := clusterFrom(strings.Replace(goodCluster, c.from, c.to, 1))
			require.EqualError(t, err, c.want)
		})
	}
}

func TestJSONNamesLinesToo(t *testing.T) {
	text := "{\n \"apiVersion\": \"v1\",\n \"kind\": \"PodList\",\n \"items\": [\n  {\n   \"metadata\": {\"name\": \"a\"},\n" +
		"   \"spec\": {\n    \"containers\": [{\"name\": \"\\ud83d\\ude00\",\n     \"resources\": {\"requests\": {\"cpu\": \"-1\"}}}]\n   }\n  },\n" +
		"  {\n   \"metadata\": {\"name\": \"b\"},\n   \"sepc\": {}\n  }\n ]\n}\n"
	_, err := clusterFrom(text)
	require.EqualError(t, err, "cluster.yaml:5: spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must not be negative (Pod default/a)\n"+
		"cluster.yaml:14: sepc: Unknown field: did you mean spec? (Pod default/b)")

	_, err = clusterFrom(strings.ReplaceAll(text, `\ud83d\ude00`, "c"))
	require.EqualError(t, err, "cluster.yaml:9: spec.containers[0].resources.requests[cpu]: Invalid value: \"-1\": must not be negative (Pod default/a)\n"+
		"cluster.yaml:14: sepc: Unknown field: did you mean spec? (Pod default/b)")

	_, err = clusterFrom(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","name":"b"},"spec":{"containers":[{"name":"c"}]}}`)
	require.EqualError(t, err, "cluster.yaml:1: metadata.name: Duplicate field (Pod default/b)")
}

const storageByHand = `
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, spec: {resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: got}, spec: {volumeName: v2, storageClassName: ""}, status: {phase: Bound}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v1}, spec: {capacity: {storage: 1Gi}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: v2}, spec: {claimRef: {name: got, namespace: default}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: older, creationTimestamp: "2026-01-01T00:00:00Z", annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: x
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: newer, creationTimestamp: "2026-01-02T00:00:00Z", annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: x
volumeBindingMode: WaitForFirstConsumer
---
{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: d, nodeID: n1, allocatable: {count: 3}}]}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: {storageCapacity: true}}
---
{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c}, storageClassName: newer, capacity: 5Gi}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a}, spec: {attacher: d, nodeName: n1, source: {persistentVolumeName: v2}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, status: {disruptionsAllowed: 1}}
`

func TestStorageByHandGetsWhatTheAPIServerWouldGive(t *testing.T) {
	got, err := clusterFrom(storageByHand)
	require.NoError(t, err)
	require.Empty(t, got.Ignored)
	require.Len(t, got.Storage, 10)
	data, bound := got.Storage[0].(*corev1.PersistentVolumeClaim), got.Storage[1].(*corev1.PersistentVolumeClaim)
	require.Equal(t, corev1.ClaimPending, data.Status.Phase)
	require.Equal(t, "newer", *data.Spec.StorageClassName, "the newest default class")
	require.Equal(t, "default", bound.Namespace)
	require.Empty(t, *bound.Spec.StorageClassName, "an empty class is an answer")
	require.Contains(t, bound.Annotations, "pv.kubernetes.io/bind-completed")
	require.NotContains(t, data.Annotations, "pv.kubernetes.io/bind-completed")
	require.Equal(t, corev1.VolumeAvailable, got.Storage[2].(*corev1.PersistentVolume).Status.Phase)
	require.Equal(t, corev1.VolumeBound, got.Storage[3].(*corev1.PersistentVolume).Status.Phase)
	require.Equal(t, storagev1.VolumeBindingImmediate, *got.Storage[4].(*storagev1.StorageClass).VolumeBindingMode)
	require.Equal(t, storagev1.VolumeBindingWaitForFirstConsumer, *got.Storage[5].(*storagev1.StorageClass).VolumeBindingMode)
	require.Equal(t, "default", got.Storage[8].GetNamespace())
	require.EqualValues(t, 1, got.Budgets[0].Status.DisruptionsAllowed)
}

func TestBrokenStorageNamesFileLineAndField(t *testing.T) {
	for name, c := range map[string]struct{ from, to, want string }{
		"a negative request": {"requests: {storage: 1Gi}", "requests: {storage: -1Gi}",
			`cluster.yaml:2: spec.resources.requests[storage]: Invalid value: "-1Gi": must not be negative (PersistentVolumeClaim shop/data)`},
		"a capacity that is none": {"capacity: {storage: 1Gi}", "capacity: {storage: much}",
			`cluster.yaml:6: spec.capacity[storage]: Invalid value: "much": must be a quantity such as 500m, 2, "1.5" or 8Gi (PersistentVolume v1)`},
		"a misspelled field": {"volumeBindingMode:", "volumeBindingmode:",
			"cluster.yaml:19: volumeBindingmode: Unknown field: did you mean volumeBindingMode? (StorageClass newer)"},
		"a claim that is there twice": {"name: got}", "name: data, namespace: shop}",
			`cluster.yaml:4: metadata.name: Duplicate value: "data": it is at cluster.yaml:2 already (PersistentVolumeClaim shop/data)`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, storageByHand, c.from)
			_, err := clusterFrom(strings.Replace(storageByHand, c.from, c.to, 1))
			require.ErrorContains(t, err, c.want)
		})
	}
}
