package shipped

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const shippedConfig = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 500}
percentageOfNodesToScore: 100
extenders:
- urlPrefix: https://muster.example:10270/guard
  filterVerb: filter
  tlsConfig: {caFile: /etc/ca.crt}
`

func TestFillsInWhatAConfigurationCannotKnowAndNothingElse(t *testing.T) {
	c, err := LoadSchedulerConfig(file(t, shippedConfig), Wiring{
		Kubeconfig: "k", Extender: "https://127.0.0.1:1234", CA: "ca", Cert: "cert", Key: "key",
	})
	require.NoError(t, err)
	require.Equal(t, SchedulerConfig{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"clientConnection":         map[string]any{"qps": 500.0, "kubeconfig": "k"},
		"percentageOfNodesToScore": 100.0,
		"extenders": []any{map[string]any{
			"urlPrefix": "https://127.0.0.1:1234/guard", "filterVerb": "filter",
			"tlsConfig": map[string]any{"caFile": "ca", "certFile": "cert", "keyFile": "key"},
		}},
	}, c)
}

func TestDoesNotTurnHTTPSIntoHTTP(t *testing.T) {
	_, err := LoadSchedulerConfig(file(t, shippedConfig), Wiring{Extender: "http://127.0.0.1:1234"})
	require.ErrorContains(t, err, "shipped with scheme https")
}

func TestRefusesAKeyGivenTwice(t *testing.T) {
	_, err := LoadSchedulerConfig(file(t, "kind: a\nkind: b\n"), Wiring{})
	require.ErrorContains(t, err, "kind")
}

func TestFlagsOfAStoryReplaceThoseShippedAndLeaveTheOthers(t *testing.T) {
	got := withFlags([]string{"--listen=:1", "--leader=lease", "--log-format=json"}, "--listen=127.0.0.1:9", "--settle=1s")
	require.Equal(t, []string{"--leader=lease", "--log-format=json", "--listen=127.0.0.1:9", "--settle=1s"}, got)
}

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}
