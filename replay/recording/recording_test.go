package recording

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func options(t *testing.T, c *clock) Options {
	return Options{
		Folder: t.TempDir(), Header: Header{Recording: "abc", Version: "test", Place: []string{"muster"}},
		FileSize: DefaultFileSize, Size: DefaultSize, FileAge: DefaultFileAge, Age: DefaultAge,
		Log: slog.New(slog.DiscardHandler), Now: c.Now,
	}
}

func newTestWriter(t *testing.T, o Options) *Writer {
	t.Helper()
	w := NewWriter(o)
	require.NoError(t, w.Open())
	return w
}

func podNamed(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name)}}
}

// read is all entries of a folder.
func read(t *testing.T, folder string) (headers []Header, entries []Entry, damages []Damage) {
	t.Helper()
	damages, err := Read(folder, func(_ string, h Header) error {
		headers = append(headers, h)
		return nil
	}, func(e Entry) error {
		entries = append(entries, e)
		return nil
	})
	require.NoError(t, err)
	return headers, entries, damages
}

// text is what a folder's files say, unpacked.
func text(t *testing.T, folder string) string {
	t.Helper()
	names, err := list(folder)
	require.NoError(t, err)
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		zip, err := gzip.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		_, err = io.Copy(&all, zip)
		require.NoError(t, err)
	}
	return all.String()
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	c := &clock{noon}
	w := newTestWriter(t, options(t, c))
	w.Object(podNamed("web"), false)
	c.now = noon.Add(time.Second)
	w.Call(Call{Verb: "place/filter", Number: 7, Pod: "uid-web", Offered: 3, Passed: 1, Node: "n1", Refused: map[string]int{"TooFull": 2}, Micros: 450})
	w.Did(ProviderCall{Provider: "pve", Verb: "create", Claim: "general-000", Outcome: "ok", Micros: 1000})
	c.now = noon.Add(2 * time.Second)
	w.Object(podNamed("web"), true)
	w.Drain()
	require.NoError(t, w.Close())

	headers, entries, damages := read(t, w.options.Folder)
	require.Empty(t, damages)
	require.Equal(t, []Header{{Schema: Schema, Recording: "abc", File: 1, Started: noon, Version: "test", Place: []string{"muster"}}}, headers)
	require.Len(t, entries, 4)
	require.Equal(t, "Pod", entries[0].Object.Kind)
	require.Equal(t, uint64(7), entries[1].Call.Number)
	require.Equal(t, "general-000", entries[2].Did.Claim)
	require.True(t, entries[3].Object.Gone)
	m, err := entries[3].Object.Metadata()
	require.NoError(t, err)
	require.Equal(t, types.UID("uid-web"), m.UID)
	for i := 1; i < len(entries); i++ {
		require.False(t, entries[i].At.Before(entries[i-1].At), "in the order of time")
	}
}

// Every file begins with what exists, so the oldest can go.
func TestEveryFileStandsAlone(t *testing.T) {
	c := &clock{noon}
	o := options(t, c)
	o.FileAge, o.Age = time.Minute, time.Hour
	w := newTestWriter(t, o)
	for i := range 10 {
		c.now = noon.Add(time.Duration(i) * 40 * time.Second)
		w.Object(podNamed(fmt.Sprintf("p%d", i)), false)
		if i == 5 {
			w.Object(podNamed("p0"), true)
		}
		w.Drain()
	}
	require.NoError(t, w.Close())
	names, err := list(o.Folder)
	require.NoError(t, err)
	require.Greater(t, len(names), 3)
	there := 0
	_, err = Read(names[len(names)-1], func(string, Header) error { return nil }, func(e Entry) error {
		if e.Object.There {
			there++
		}
		return nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, there, 7)
	require.NotContains(t, text(t, names[len(names)-1]), `"uid-p0"`, "what is gone exists no more")
}

func TestTheOldestFilesGo(t *testing.T) {
	c := &clock{time.Now()} // files have the disk's own time
	o := options(t, c)
	o.FileSize, o.Size = 600, 3000
	w := newTestWriter(t, o)
	other := filepath.Join(o.Folder, "notes.txt")
	require.NoError(t, os.WriteFile(other, bytes.Repeat([]byte("x"), 10_000), 0o600))
	for i := range 400 {
		c.now = c.now.Add(time.Second)
		w.Call(Call{Verb: "place/filter", Number: uint64(i), Pod: fmt.Sprintf("%x", i*7919)})
		w.Drain()
	}
	require.NoError(t, w.Close())
	names, err := list(o.Folder)
	require.NoError(t, err)
	var total int64
	for _, name := range names {
		info, err := os.Stat(name)
		require.NoError(t, err)
		total += info.Size()
	}
	require.LessOrEqual(t, total, o.Size+2*o.FileSize)
	require.Greater(t, len(names), 2)
	require.FileExists(t, other, "nothing else is touched")
	require.NotContains(t, names[0], "-000001"+suffix)
}

func TestADamagedFileIsReadUpToTheDamage(t *testing.T) {
	c := &clock{noon}
	w := newTestWriter(t, options(t, c))
	for i := range 50 {
		c.now = noon.Add(time.Duration(i) * time.Second)
		w.Object(podNamed(fmt.Sprintf("p%d", i)), false)
		w.Drain() // a killed process leaves all but the last turn
	}
	names, err := list(w.options.Folder)
	require.NoError(t, err)
	whole, err := os.ReadFile(names[0])
	require.NoError(t, err)
	_, all, damages := read(t, names[0])
	require.Len(t, all, 50, "a file that was never closed")
	require.Len(t, damages, 1)
	require.ErrorIs(t, damages[0], io.ErrUnexpectedEOF)

	cut := filepath.Join(t.TempDir(), "cut"+suffix)
	require.NoError(t, os.WriteFile(cut, whole[:len(whole)/2], 0o600))
	_, some, damages := read(t, cut)
	require.NotEmpty(t, some)
	require.Less(t, len(some), 50)
	require.Len(t, damages, 1)
	require.Contains(t, damages[0].Error(), cut+":")

	require.NoError(t, os.WriteFile(cut, nil, 0o600))
	_, none, damages := read(t, filepath.Dir(cut))
	require.Empty(t, none)
	require.Len(t, damages, 1)

	_, err = Read(t.TempDir(), nil, nil)
	require.ErrorContains(t, err, "no file of a recording")
}

func TestAnotherSchemaIsRefused(t *testing.T) {
	err := readLines("f", strings.NewReader(`{"schema":"muster.sh/recording/v9"}`), nil, nil)
	require.EqualError(t, err, `f: schema "muster.sh/recording/v9" is not read here, muster.sh/recording/v1 is`)
}

// canary stands where secrets stand.
const canary = "s3cr3t-canary"

func secretObjects() []metav1.Object {
	p := podNamed("web")
	p.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": canary, "muster.sh/do-not-release": "true"}
	p.Labels = map[string]string{"app": "web"}
	p.Spec = corev1.PodSpec{
		ServiceAccountName: canary, ImagePullSecrets: []corev1.LocalObjectReference{{Name: canary}}, Hostname: canary,
		Containers: []corev1.Container{{
			Name: "main", Image: canary, Command: []string{canary}, Args: []string{canary}, WorkingDir: canary,
			Env:     []corev1.EnvVar{{Name: "TOKEN", Value: canary}},
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: canary}}}},
		}},
		Volumes: []corev1.Volume{
			{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: canary}}},
			{Name: "h", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: canary}}},
		},
	}
	p.Status.Message, p.Status.PodIP = canary, canary
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Message: canary}}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "n1", Annotations: map[string]string{"x": canary}}}
	n.Status.Addresses = []corev1.NodeAddress{{Address: canary}}
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d"}}
	d.Spec.Template.Spec = p.Spec
	provider := &v1alpha1.Provider{ObjectMeta: metav1.ObjectMeta{Name: "pve", UID: "pve"}, Spec: v1alpha1.ProviderSpec{
		Type: v1alpha1.ProviderProxmox, Endpoint: canary,
	}}
	claim := &v1alpha1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c"}}
	claim.Status.Message, claim.Status.LastError = canary, canary
	claim.Status.Conditions = []metav1.Condition{{Type: "Ready", Message: canary}}
	return []metav1.Object{p, n, d, provider, claim}
}

func TestNothingButTheAllowListIsWritten(t *testing.T) {
	w := newTestWriter(t, options(t, &clock{noon}))
	for _, o := range secretObjects() {
		w.Object(o, false)
	}
	w.Drain()
	require.NoError(t, w.Close())
	said := text(t, w.options.Folder)
	require.NotContains(t, said, canary)
	require.Contains(t, said, "muster.sh/do-not-release")
	require.Equal(t, 5, strings.Count(said, `"kind":`))
}

func TestHashedNamesCompareAlike(t *testing.T) {
	o := options(t, &clock{noon})
	o.Key = []byte("key")
	w := newTestWriter(t, o)
	p := podNamed("web")
	p.Labels = map[string]string{"app": "payroll"}
	p.Spec.NodeName = "rack-7"
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "payroll"}}, TopologyKey: corev1.LabelHostname,
		}},
	}}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "rack-7", UID: "n", Labels: map[string]string{
		corev1.LabelHostname: "rack-7", corev1.LabelTopologyZone: "east",
	}}}
	w.Object(n, false)
	w.Object(p, false)
	w.Call(Call{Verb: "place/filter", Pod: string(p.UID), Node: "rack-7"})
	w.Drain()
	require.NoError(t, w.Close())
	said := text(t, o.Folder)
	for _, name := range []string{"payroll", "rack-7", `"team"`, `"web"`} {
		require.NotContains(t, said, name)
	}
	require.Equal(t, 4, strings.Count(said, hasher{o.Key}.name("rack-7")), "the node, its label, the pod's node and the call")
	require.Equal(t, 2, strings.Count(said, hasher{o.Key}.name("payroll")))
	require.Contains(t, said, "east")
	require.Equal(t, "rack-7", p.Spec.NodeName, "what was recorded is not changed")
	require.Equal(t, "payroll", p.Labels["app"])
}

func TestTooManyCallsAreCountedAndLeftOut(t *testing.T) {
	w := newTestWriter(t, options(t, &clock{noon}))
	for i := range maxQueue + 10 {
		w.Call(Call{Number: uint64(i)})
	}
	w.Drain()
	w.Call(Call{Number: 99})
	w.Drain()
	require.NoError(t, w.Close())
	require.Equal(t, uint64(10), w.Totals().Lost)
	require.Equal(t, uint64(maxQueue+1), w.Totals().Written)
	s, err := Inspect(w.options.Folder)
	require.NoError(t, err)
	require.Equal(t, uint64(10), s.Lost, "the recording says so itself")
}

func TestVersionsOfATurnAreMerged(t *testing.T) {
	w := newTestWriter(t, options(t, &clock{noon}))
	for i := range 5 {
		p := podNamed("web")
		p.Generation = int64(i)
		w.Object(p, false)
	}
	w.Drain()
	w.Object(podNamed("web"), false)
	same := podNamed("web")
	same.Status.Message = "nobody reads this"
	w.Object(same, false)
	w.Drain()
	require.NoError(t, w.Close())
	_, entries, _ := read(t, w.options.Folder)
	require.Len(t, entries, 2)
	require.Equal(t, uint64(5), w.Totals().Merged)
}

func TestADiskThatFailsStopsNobody(t *testing.T) {
	c := &clock{noon}
	o := options(t, c)
	var log bytes.Buffer
	o.Log = slog.New(slog.NewTextHandler(&log, nil))
	w := newTestWriter(t, o)
	w.Object(podNamed("kept"), false)
	w.Drain()
	require.NoError(t, w.files.file.Close()) // from here on writing fails
	w.Object(podNamed("a"), false)
	w.Drain()
	for range 100 {
		w.Call(Call{})
		w.Drain()
	}
	require.Equal(t, 1, strings.Count(log.String(), "could not record"), "told once, not a hundred times")
	require.GreaterOrEqual(t, w.Totals().Failed, uint64(100))
	c.now = noon.Add(2 * retryAfter)
	w.Object(podNamed("later"), false)
	w.Drain()
	require.NoError(t, w.Close())
	names, err := list(o.Folder)
	require.NoError(t, err)
	require.Len(t, names, 2)
	said := text(t, names[1])
	for _, name := range []string{"uid-kept", "uid-a", "uid-later"} {
		require.Contains(t, said, name, "the new file begins with what exists")
	}

	o.Folder = filepath.Join(names[0], "below-a-file")
	require.ErrorContains(t, NewWriter(o).Open(), "record to "+o.Folder)
}

func TestTheLoopWritesEveryTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, &clock{noon})
		o.Now = time.Now
		w := newTestWriter(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Run(ctx) }()
		w.Object(podNamed("a"), false)
		synctest.Wait()
		require.Equal(t, uint64(1), w.Totals().Written)
		w.Object(podNamed("b"), false)
		synctest.Wait()
		require.Equal(t, uint64(1), w.Totals().Written, "the turn is not over")
		time.Sleep(turn)
		synctest.Wait()
		require.Equal(t, uint64(2), w.Totals().Written)
		w.Object(podNamed("c"), false)
		cancel()
		require.NoError(t, <-done)
		require.Equal(t, uint64(3), w.Totals().Written, "nothing that came before the end is lost")
	})
}

func TestInspect(t *testing.T) {
	w := newTestWriter(t, options(t, &clock{noon}))
	w.Object(podNamed("a"), false)
	w.Call(Call{Verb: "guard/filter", Error: "not ready"})
	w.Did(ProviderCall{Provider: "pve", Verb: "create", Outcome: "busy"})
	w.Drain()
	require.NoError(t, w.Close())
	s, err := Inspect(w.options.Folder)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, s.WriteText(&out))
	for _, want := range []string{`Pod +1, changed 1 times`, `guard/filter +1 calls`, `refused +1 calls`, `provider +pve create busy: 1`, `names +as in the cluster`} {
		require.Regexp(t, want, out.String())
	}
	require.NotContains(t, out.String(), "damaged")
}

func FuzzReadLines(f *testing.F) {
	f.Add([]byte(`{"schema":"muster.sh/recording/v1"}` + "\n" + `{"t":"2026-03-01T12:00:00Z","object":{"kind":"Pod","body":{"metadata":{"uid":"a"}}}}` + "\n"))
	f.Add([]byte(`{"schema":"muster.sh/recording/v1"}` + "\n" + `{"t":"2026-03-01T12:00:00Z","call":{"verb":"place/filter"}}` + "\n{"))
	f.Add([]byte("{}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Summary{Objects: map[string]int{}, Changes: map[string]int{}, Calls: map[string]int{}, Provider: map[string]int{}, seen: map[string]bool{}}
		err := readLines("f", bytes.NewReader(data), s.header, s.entry)
		if err != nil {
			require.Contains(t, err.Error(), "f:", "it says where")
		}
	})
}
