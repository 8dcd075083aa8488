package proxmox_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/proxmox"
)

func TestAnEndpointThatIsNotReachedIsNamedWithWhatToLookAt(t *testing.T) {
	r := newRig(t)
	r.server.Close()
	found := r.provider(t).Check(t.Context())
	require.Len(t, found, 1)
	require.Equal(t, provider.LevelError, found[0].Level)
	require.Equal(t, "endpoint "+r.server.URL, found[0].Subject)
	require.Contains(t, found[0].Hint, "nothing listens there: compare spec.endpoint")
}

// The two keys of a Secret are easily taken for each other, so no value is repeated.
func TestASecretThatHoldsNoTokenIsRefusedByNameBeforeAnythingIsSent(t *testing.T) {
	const id, secret = "muster@pve!m", "1b0b6ae5-canary"
	for name, c := range map[string]struct {
		data map[string]string
		says string
	}{
		"one key is missing":            {map[string]string{"tokenID": id}, "key tokenSecret is missing or empty"},
		"the other key is missing":      {map[string]string{"tokenSecret": secret}, "key tokenID is missing or empty"},
		"a line break from echo":        {map[string]string{"tokenID": id, "tokenSecret": secret + "\n"}, "key tokenSecret has a space or a line break in it"},
		"a user where a token belongs":  {map[string]string{"tokenID": "root@pam", "tokenSecret": secret}, "key tokenID is not USER@REALM!TOKENNAME"},
		"the two are taken for another": {map[string]string{"tokenID": secret, "tokenSecret": id}, "key tokenID is not USER@REALM!TOKENNAME"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			p, err := proxmox.New(proxmox.Config{Name: "px", Endpoint: r.server.URL, Spec: r.spec, Now: r.now, Pause: time.Millisecond, Transport: r.wire,
				Credentials: &dial.Credentials{Name: "secret muster-system/px", Read: dial.Static(c.data), Now: r.now}})
			require.NoError(t, err)
			_, err = p.List(context.Background())
			require.ErrorIs(t, err, provider.ErrMisconfigured)
			require.ErrorContains(t, err, "secret muster-system/px: "+c.says)
			require.NotContains(t, err.Error(), secret)
		})
	}
}
