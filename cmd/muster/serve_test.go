package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// beMuster in the environment makes a process of this test the program itself: client-go's logger is one for a whole process,
// so that it can be served in once.
const beMuster = "MUSTER_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMuster) != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestServeRefusesFlagsBeforeItReachesAnybody(t *testing.T) {
	for flags, want := range map[string]string{
		"--lease=x y/z":                `--lease "x y/z": use namespace/name`,
		"--scheduler-lease=muster":     `--scheduler-lease "muster": use namespace/name`,
		"--place-scheduler=":           "--place-scheduler and --guard-scheduler are both empty",
		"--guard-scheduler=a,":         "the name of a scheduler is empty",
		"--tls-cert-file=cert.pem":     "--tls-cert-file, --tls-private-key-file, --client-ca-file: a TLS certificate and its private key belong together",
		"--client-ca-file=ca.pem":      "--tls-cert-file, --tls-private-key-file, --client-ca-file: client certificates are asked for",
		"--record-max-size=2Gi":        "mean nothing without --record",
		"--record-max-age=1h":          "mean nothing without --record",
		"--record-hash-key-file=k.txt": "mean nothing without --record",
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, run(t.Context(), []string{"serve", "--kubeconfig=none", flags}, &out, &errs), flags)
		require.Contains(t, errs.String(), want, flags)
	}
}

// kubeconfigOf names an API server that is not there.
func kubeconfigOf(t *testing.T, server string) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{apiVersion: v1, kind: Config, current-context: c,
clusters: [{name: c, cluster: {server: %q}}], contexts: [{name: c, context: {cluster: c}}]}`, server), 0o600))
	return file
}

func TestAnAPIServerThatIsNotThereIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := "https://" + l.Addr().String()
	require.NoError(t, l.Close())
	kubeconfig := "--kubeconfig=" + kubeconfigOf(t, server)
	for _, args := range [][]string{
		{"serve", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", kubeconfig},
		{"serve", "--shadow", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0", kubeconfig},
		{"doctor", "--provider=px", kubeconfig},
	} {
		var errs bytes.Buffer
		muster := exec.CommandContext(t.Context(), os.Args[0], args...)
		muster.Env, muster.Stderr = append(os.Environ(), beMuster+"=1"), &errs
		require.EqualError(t, muster.Run(), "exit status 1", args)
		require.Contains(t, errs.String(), "muster: API server "+server+" (is it the one that --kubeconfig should name, and is it up?): dial tcp", args)
	}
}
