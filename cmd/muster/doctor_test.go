package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/capacity"
	"github.com/muster-sh/muster/provider"
)

// ailing is a backend whose check finds this.
type ailing struct {
	provider.Provider
	findings []provider.Finding
}

func (a ailing) Check(context.Context) []provider.Finding { return a.findings }

var findings = []provider.Finding{
	{Subject: "endpoint", Level: provider.LevelOK, Message: "Proxmox VE 9.2.4"},
	{Subject: "host pve2", Level: provider.LevelWarning, Message: "offline", Hint: "no machine is made there"},
	{Subject: "permissions on /pool/muster", Level: provider.LevelError, Message: "missing VM.Allocate", Hint: "pveum acl modify"},
}

func TestTheDoctorSaysWhatToDo(t *testing.T) {
	var out bytes.Buffer
	require.ErrorIs(t, report(&out, findings), errUnhealthy)
	require.Equal(t, `ok      endpoint: Proxmox VE 9.2.4
warning host pve2: offline
        do: no machine is made there
error   permissions on /pool/muster: missing VM.Allocate
        do: pveum acl modify
`, out.String())
	require.NoError(t, report(&out, findings[:2]), "a warning keeps no machine from being made")
}

func TestWhatIsWrongWithAProviderIsToldOnce(t *testing.T) {
	live := capacity.NewLive(capacity.Schedulers{})
	object := &v1alpha1.Provider{}
	object.Name, object.Generation = "px", 1
	object.Spec.Type, object.Spec.TLS = v1alpha1.ProviderProxmox, &v1alpha1.TLS{InsecureSkipVerify: true}
	live.SetProvider(object)
	b := newBackends(live, prometheus.NewRegistry(), map[v1alpha1.ProviderType]maker{
		v1alpha1.ProviderProxmox: func(*v1alpha1.Provider) (provider.Provider, error) { return ailing{findings: findings}, nil },
	})
	told := make(chan string, 10)
	b.warn = func(about *v1alpha1.Provider, reason, message string) {
		told <- about.Name + " " + reason + " " + message
	}
	for range 3 {
		_, err := b.Backend("px")
		require.NoError(t, err)
	}
	var texts []string
	for range 2 {
		select {
		case text := <-told:
			texts = append(texts, text)
		case <-time.After(10 * time.Second):
			require.Fail(t, "not told")
		}
	}
	all := strings.Join(texts, "\n")
	require.Contains(t, all, "px InsecureTLS spec.tls.insecureSkipVerify trusts any server")
	require.Contains(t, all, "px CheckFailed permissions on /pool/muster: missing VM.Allocate (pveum acl modify)")
	require.Empty(t, told)
}
