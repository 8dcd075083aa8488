package seed_test

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/diskfs/go-diskfs/backend"
	"github.com/diskfs/go-diskfs/filesystem/iso9660"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/muster-sh/muster/provider/seed"
)

const canary = "canary-77aa-secret"

var facts = seed.Facts{Claim: "std-001", Node: "std-001", UUID: "0d5c3f6e-0000-5000-8000-000000000001", Token: "abcdef.0123456789abcdef", CPU: 4}

// memory is an image that a file system is read from.
type memory struct{ *bytes.Reader }

func (memory) Stat() (fs.FileInfo, error)              { return nil, fs.ErrInvalid }
func (memory) Close() error                            { return nil }
func (memory) Sys() (*os.File, error)                  { return nil, fs.ErrInvalid }
func (memory) Writable() (backend.WritableFile, error) { return nil, fs.ErrInvalid }
func (memory) Path() string                            { return "" }

func TestAnImageHoldsTheFilesByTheirNames(t *testing.T) {
	files := map[string][]byte{seed.UserData: bytes.Repeat([]byte("#cloud-config\n"), 1000), seed.MetaData: []byte("instance-id: x\n"),
		seed.NetworkConfig: {}}
	image := seed.Image(files)
	disk, err := iso9660.Read(memory{bytes.NewReader(image)}, int64(len(image)), 0, 2048)
	require.NoError(t, err)
	require.Equal(t, seed.Label, strings.TrimRight(disk.Label(), " "))
	for name, content := range files {
		f, err := disk.OpenFile("/"+name, 0)
		require.NoError(t, err, name)
		got, err := io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, len(content), len(got), name)
		require.True(t, bytes.Equal(content, got), name)
	}
	require.Equal(t, image, seed.Image(files), "the same files make the same image")
}

func TestTemplatesAreFilledIn(t *testing.T) {
	files, err := seed.Render(map[string][]byte{
		seed.UserData:      []byte("#cloud-config\nhostname: {{.Node}}\nruncmd: [kubeadm join --token {{.Token}} --node-name {{json .Node}}]\n"),
		seed.NetworkConfig: []byte("version: 2\n# {{base64 .Claim}} {{.CPU}}{{indent 2 \"\\na\"}}\n"),
	}, seed.CloudInit, facts)
	require.NoError(t, err)
	require.Contains(t, string(files[seed.UserData]), `--token abcdef.0123456789abcdef --node-name "std-001"`)
	require.Equal(t, "instance-id: 0d5c3f6e-0000-5000-8000-000000000001\nlocal-hostname: std-001\n", string(files[seed.MetaData]))
	require.Equal(t, "version: 2\n# c3RkLTAwMQ== 4\n  a\n", string(files[seed.NetworkConfig]))
}

func TestWhatNobodyWouldUnderstandIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		format   seed.Format
		userData string
		want     string
	}{
		"cloud-config":                      {seed.CloudInit, "#cloud-config\n{}", ""},
		"a script":                          {seed.CloudInit, "#!/bin/sh\ntrue", ""},
		"YAML without cloud-init's header":  {seed.CloudInit, "hostname: " + canary, "begins with #cloud-config"},
		"nothing":                           {seed.CloudInit, "", "no key user-data"},
		"Ignition":                          {seed.Ignition, `{"ignition":{"version":"3.4.0"}}`, ""},
		"a Butane file":                     {seed.Ignition, "variant: fcos\nversion: 1.5.0\n" + canary, "Ignition reads JSON"},
		"JSON without a version":            {seed.Ignition, `{"ignition":{}}`, "Ignition reads JSON"},
		"Talos":                             {seed.Talos, "version: v1alpha1\nmachine:\n  type: worker\n", ""},
		"Talos with a second document":      {seed.Talos, "---\nversion: v1alpha1\nmachine:\n  type: worker\n---\nkind: HostnameConfig\n", ""},
		"cloud-config for Talos":            {seed.Talos, "#cloud-config\nhostname: " + canary, "Talos reads YAML"},
		"a field that is not there":         {seed.CloudInit, "#cloud-config\n# " + canary + "\n{{.Secret}}", "line 3"},
		"a template that ends in its midst": {seed.CloudInit, "#cloud-config\n{{" + canary, "line 2"},
		"too large":                         {seed.CloudInit, "#cloud-config\n{{printf \"%600000d\" 1}}", "at most 524288"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := seed.Render(map[string][]byte{seed.UserData: []byte(c.userData)}, c.format, facts)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), canary)
		})
	}
}

func TestATokenIsAsKubernetesReadsIt(t *testing.T) {
	kube := fake.NewClientset()
	tokens := seed.Tokens{Kube: kube}
	id := seed.TokenID("machine-1")
	require.Regexp(t, `^[a-z0-9]{6}$`, id)
	require.NotEqual(t, id, seed.TokenID("machine-2"))
	var last string
	for range 2 { // the second time it replaces the first
		secret, err := seed.NewSecret()
		require.NoError(t, err)
		require.Regexp(t, `^[a-z0-9]{16}$`, secret.Reveal())
		require.NotEqual(t, last, secret.Reveal())
		last = secret.Reveal()
		require.NoError(t, tokens.Create(t.Context(), seed.Token{ID: id, Secret: secret, For: "std-001", Groups: []string{"system:bootstrappers:a", "system:bootstrappers:b"},
			Expires: time.Date(2026, 11, 21, 9, 20, 0, 0, time.UTC)}))
	}
	all, err := kube.CoreV1().Secrets("kube-system").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, all.Items, 1)
	got := all.Items[0]
	require.Equal(t, "bootstrap-token-"+id, got.Name)
	require.Equal(t, corev1.SecretTypeBootstrapToken, got.Type)
	require.Equal(t, last, got.StringData["token-secret"])
	require.Equal(t, "2026-11-21T09:20:00Z", got.StringData["expiration"])
	require.Equal(t, "system:bootstrappers:a,system:bootstrappers:b", got.StringData["auth-extra-groups"])
	for range 2 {
		require.NoError(t, tokens.Delete(t.Context(), id), "also when it is gone")
	}
}
