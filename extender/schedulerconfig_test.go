package extender_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/muster-sh/muster/extender"
)

var schedulers = extender.SchedulerNames{Place: sets.New("muster"), Guard: sets.New("default-scheduler")}

// goodPlace is a place scheduler nothing is wrong with; the tables change one thing in it.
const goodPlace = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {qps: 500, burst: 1000}
percentageOfNodesToScore: 100
profiles:
- schedulerName: muster
  plugins:
    filter:
      disabled:
      - name: NodeResourcesFit
      - name: NodeAffinity
      - name: TaintToleration
      - name: NodeUnschedulable
    postFilter:
      disabled:
      - name: DefaultPreemption
extenders:
- urlPrefix: http://127.0.0.1:10270/place
  filterVerb: filter
  nodeCacheCapable: true
  ignorable: false
  httpTimeout: 5s
`

const goodGuard = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: https://muster.muster-system:10270/guard
  filterVerb: filter
  prioritizeVerb: prioritize
  preemptVerb: preempt
  weight: 1
  nodeCacheCapable: true
  ignorable: true
  enableHTTPS: true
  tlsConfig: {caFile: /ca.crt, certFile: /tls.crt, keyFile: /tls.key}
`

func problemsOf(t *testing.T, config string, names extender.SchedulerNames) (refused, advised []string) {
	t.Helper()
	problems, err := extender.CheckSchedulerConfig([]byte(config), names)
	require.NoError(t, err)
	for _, p := range problems {
		require.NotEmpty(t, p.Want)
		require.NotEmpty(t, p.Why)
		text := p.Field + "=" + p.Value
		if p.Refused {
			refused = append(refused, text)
		} else {
			advised = append(advised, text)
		}
	}
	require.Equal(t, len(refused) > 0, extender.Refusals(problems) != nil)
	return refused, advised
}

func TestSchedulerConfigsThatAreFine(t *testing.T) {
	for name, config := range map[string]string{
		"place": goodPlace, "guard": goodGuard,
		"place with all filters off but those Muster does not judge, and a share of its own": change(
			"    filter:\n      disabled:\n      - name: NodeResourcesFit\n      - name: NodeAffinity\n      - name: TaintToleration\n      - name: NodeUnschedulable\n",
			`    filter:
      disabled: [{name: "*"}]
      enabled: [{name: NodeName}, {name: NodePorts}, {name: VolumeRestrictions}, {name: NodeVolumeLimits}, {name: VolumeBinding},
        {name: VolumeZone}, {name: PodTopologySpread}, {name: InterPodAffinity}, {name: DynamicResources}]
`,
			"percentageOfNodesToScore: 100\n", "", "  plugins:", "  percentageOfNodesToScore: 100\n  plugins:")(goodPlace),
		"place with the plugins off at every point": change(
			"filter:\n      disabled", "multiPoint:\n      disabled", "    postFilter:\n      disabled:\n", "")(goodPlace),
		"place beside another extender":           goodPlace + "- urlPrefix: http://127.0.0.1:9/other\n  filterVerb: filter\n",
		"place over TLS with client certificates": change("http://127.0.0.1:10270/place", "https://muster:10270/place\n  enableHTTPS: true\n  tlsConfig: {caData: YQ==}")(goodPlace),
		"place on another loopback address":       change("127.0.0.1:10270/place", "[::1]:10270/place/")(goodPlace),
		"a client without limits":                 change("qps: 500", "qps: -1")(goodPlace),
	} {
		t.Run(name, func(t *testing.T) {
			refused, advised := problemsOf(t, config, schedulers)
			require.Empty(t, refused)
			require.Empty(t, advised)
		})
	}
}

// change replaces pieces of a text, each of which must be there.
func change(pairs ...string) func(string) string {
	return func(text string) string {
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				panic(fmt.Sprintf("%q is not in the configuration", pairs[i]))
			}
			text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
		}
		return text
	}
}

func TestSchedulerConfigsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, config string
		edit         func(string) string
		problem      string
	}{
		{"ignorable", goodPlace, change("ignorable: false", "ignorable: true"), "extenders[0].ignorable=true"},
		{"managed resources", goodPlace, change("ignorable: false", "managedResources: [{name: a.b/c}, {name: d.e/f}]"),
			"extenders[0].managedResources=[a.b/c, d.e/f]"},
		{"no filter verb", goodPlace, change("  filterVerb: filter\n", ""), `extenders[0].filterVerb=""`},
		{"another filter verb", goodPlace, change("filterVerb: filter", "filterVerb: place"), `extenders[0].filterVerb="place"`},
		{"a bind verb", goodPlace, change("ignorable: false", "bindVerb: bind"), `extenders[0].bindVerb="bind"`},
		{"a preempt verb in place mode", goodPlace, change("ignorable: false", "preemptVerb: preempt"), `extenders[0].preemptVerb="preempt"`},
		{"a prioritize verb that is none", goodPlace, change("ignorable: false", "prioritizeVerb: score"), `extenders[0].prioritizeVerb="score"`},
		{"two entries", goodPlace, func(s string) string { return s + "- urlPrefix: http://127.0.0.1:1/place\n  filterVerb: filter\n" },
			"extenders[1].urlPrefix=http://127.0.0.1:1/place"},
		{"no entry at all", goodPlace, func(s string) string { return s[:strings.Index(s, "extenders:")] }, "extenders=a list of 0 without Muster"},
		{"an entry for somebody else", goodPlace, change("/place", "/plaice"), "extenders=a list of 1 without Muster"},
		{"no entry and filters off", goodPlace, change("/place", "/plaice"), "profiles[0].plugins.filter=NodeResourcesFit disabled"},
		{"a guard entry and filters off", goodPlace, change("/place", "/guard"), "profiles[0].plugins.filter=TaintToleration disabled"},
		{"a place scheduler without its entry", goodPlace, change("/place", "/guard"), "extenders=no entry that ends in /place"},
		{"one filter left on", goodPlace, change("      - name: TaintToleration\n", ""), "profiles[0].plugins.filter=TaintToleration enabled"},
		{"a filter off and on again", goodPlace, change("    filter:\n", "    filter:\n      enabled: [{name: NodeAffinity}]\n"),
			"profiles[0].plugins.filter=NodeAffinity enabled"},
		{"all defaults off and one on again", goodPlace, change("  plugins:\n", "  plugins:\n    multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeUnschedulable}]}\n",
			"      - name: NodeUnschedulable\n", ""), "profiles[0].plugins.filter=NodeUnschedulable enabled"},
		{"a profile without plugins", goodPlace, func(s string) string {
			return s[:strings.Index(s, "  plugins:")] + s[strings.Index(s, "extenders:"):]
		}, "profiles[0].plugins.filter=NodeResourcesFit enabled"},
		{"preemption left on", goodPlace, change("    postFilter:\n      disabled:\n      - name: DefaultPreemption\n", ""),
			"profiles[0].plugins.postFilter=DefaultPreemption enabled"},
		{"a sample of the nodes", goodPlace, change("Score: 100", "Score: 50"), "percentageOfNodesToScore=50"},
		{"the default share of nodes", goodPlace, change("percentageOfNodesToScore: 100\n", ""),
			"percentageOfNodesToScore=nothing (a share that shrinks with the cluster)"},
		{"a share of the profile", goodPlace, change("  plugins:", "  percentageOfNodesToScore: 0\n  plugins:"), "profiles[0].percentageOfNodesToScore=0"},
		{"another profile in the process", goodPlace, change("extenders:", "- schedulerName: mine\nextenders:"), `profiles[1].schedulerName="mine"`},
		{"another profile that keeps its filters", goodPlace, change("extenders:", "- schedulerName: mine\nextenders:"),
			"profiles[1].plugins.filter=NodeResourcesFit enabled"},
		{"a profile nobody told Muster of", goodPlace, change("schedulerName: muster", "schedulerName: mister"), `profiles[0].schedulerName="mister"`},
		{"no profile", goodPlace, func(s string) string {
			return s[:strings.Index(s, "profiles:")] + s[strings.Index(s, "extenders:"):]
		}, `profiles[0].schedulerName="default-scheduler"`},
		{"HTTPS without a CA", goodPlace, change("http://127.0.0.1:10270/place", "https://muster:10270/place\n  enableHTTPS: true"),
			`extenders[0].tlsConfig.caFile=""`},
		{"HTTPS with an http prefix", goodPlace, change("ignorable: false", "enableHTTPS: true\n  tlsConfig: {caFile: /ca}"), "extenders[0].enableHTTPS=true"},
		{"verification turned off", goodPlace, change("ignorable: false", "tlsConfig: {insecure: true}"), "extenders[0].tlsConfig.insecure=true"},
		{"a prefix without a host", goodPlace, change("http://127.0.0.1:10270/place", "/place"), `extenders[0].urlPrefix="/place"`},
		{"a prefix of another scheme", goodPlace, change("http://", "unix://"), `extenders[0].urlPrefix="unix://127.0.0.1:10270/place"`},
		{"guard: managed resources", goodGuard, change("ignorable: true", "ignorable: true\n  managedResources: [{name: a.b/c}]"), "extenders[0].managedResources=[a.b/c]"},
		{"guard: no filter verb", goodGuard, change("  filterVerb: filter\n", ""), `extenders[0].filterVerb=""`},
		{"guard: another preempt verb", goodGuard, change("preemptVerb: preempt", "preemptVerb: kill"), `extenders[0].preemptVerb="kill"`},
		{"guard: HTTPS without a CA", goodGuard, change("caFile: /ca.crt, ", ""), `extenders[0].tlsConfig.caFile=""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused, _ := problemsOf(t, c.edit(c.config), schedulers)
			require.Contains(t, refused, c.problem)
		})
	}
}

func TestSchedulerConfigsThatGetAdvice(t *testing.T) {
	for _, c := range []struct {
		name, config string
		edit         func(string) string
		problem      string
	}{
		{"whole nodes in every call", goodPlace, change("nodeCacheCapable: true", "nodeCacheCapable: false"), "extenders[0].nodeCacheCapable=false"},
		{"a long timeout", goodPlace, change("httpTimeout: 5s", "httpTimeout: 2m"), "extenders[0].httpTimeout=2m0s"},
		{"a short timeout", goodPlace, change("httpTimeout: 5s", "httpTimeout: 100ms"), "extenders[0].httpTimeout=100ms"},
		{"a slow client", goodPlace, change("qps: 500", "qps: 100"), "clientConnection.qps=100"},
		{"the default client", goodPlace, change("{qps: 500, burst: 1000}", "{}"), "clientConnection.qps=50"},
		{"a client with a small burst", goodPlace, change("burst: 1000", "burst: 500"), "clientConnection.burst=500"},
		{"plain HTTP over the network", goodPlace, change("127.0.0.1", "10.0.0.7"), `extenders[0].urlPrefix="http://10.0.0.7:10270/place"`},
		{"a filter off that Muster does not judge", goodPlace, change("      - name: NodeAffinity\n", "      - name: NodeAffinity\n      - name: NodePorts\n"),
			"profiles[0].plugins.filter=NodePorts disabled"},
		{"guard that stops everything when away", goodGuard, change("ignorable: true", "ignorable: false"), "extenders[0].ignorable=false"},
		{"guard without preempt", goodGuard, change("  preemptVerb: preempt\n", ""), `extenders[0].preemptVerb=""`},
		{"guard for a scheduler whose pods buy nothing", goodGuard, change("extenders:", "profiles: [{schedulerName: mine}]\nextenders:"),
			`profiles[0].schedulerName="mine"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused, advised := problemsOf(t, c.edit(c.config), schedulers)
			require.Empty(t, refused)
			require.Contains(t, advised, c.problem)
		})
	}
}

func TestSchedulerConfigsThatCannotBeRead(t *testing.T) {
	for _, c := range []struct{ name, config, text string }{
		{"an empty file", "", "KubeSchedulerConfiguration"},
		{"rubbish", "{{", "KubeSchedulerConfiguration"},
		{"another kind", "apiVersion: v1\nkind: Pod\n", "Pod"},
		{"arguments of a plugin", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\n", "NodeAffinityArgs is not accepted"},
		{"an unknown field", goodPlace + "  filterverb: filter\n", `unknown field "extenders[0].filterverb"`},
		{"a field twice", goodPlace + "  filterVerb: filter\n", `"filterVerb" already set`},
		{"a field of another type", goodPlace + "  weight: heavy\n", "weight"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := extender.CheckSchedulerConfig([]byte(c.config), schedulers)
			require.ErrorContains(t, err, c.text)
		})
	}
}

func TestProblemReadsAsASentence(t *testing.T) {
	problems, err := extender.CheckSchedulerConfig([]byte(change("ignorable: false", "ignorable: true")(goodPlace)), schedulers)
	require.NoError(t, err)
	require.EqualError(t, extender.Refusals(problems),
		"extenders[0].ignorable: true is not accepted, false is: while Muster is away nobody checks room")
}

func FuzzCheckSchedulerConfig(f *testing.F) {
	f.Add([]byte(goodPlace))
	f.Add([]byte(goodGuard))
	f.Fuzz(func(t *testing.T, data []byte) {
		problems, err := extender.CheckSchedulerConfig(data, schedulers)
		for _, p := range problems {
			require.NotEmpty(t, p.Field)
		}
		require.False(t, err != nil && len(problems) > 0)
	})
}

func TestTheShippedSchedulerConfigsAreFine(t *testing.T) {
	for _, file := range []string{"place/scheduler-config.yaml", "guard/scheduler-config.yaml"} {
		config, err := os.ReadFile(filepath.Join("../deploy", file))
		require.NoError(t, err)
		refused, advised := problemsOf(t, string(config), schedulers)
		require.Empty(t, refused, file)
		require.Empty(t, advised, file)
	}
}
