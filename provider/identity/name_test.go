package identity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-sh/muster/provider/identity"
)

func TestM04ANameDoesNotComeBackWithItsSlot(t *testing.T) {
	seen := map[string]bool{}
	for use := range 1000 {
		for attempt := int32(1); attempt <= 3; attempt++ {
			name := identity.MadeNodeName("std-000", types.UID(fmt.Sprintf("uid-%d", use)), attempt)
			require.False(t, seen[name], name)
			require.Regexp(t, `^std-000-[0-9a-f]{6}$`, name)
			seen[name] = true
		}
	}
	require.Equal(t, identity.MadeNodeName("std-000", "uid", 1), identity.MadeNodeName("std-000", "uid", 0), "an order that is not begun is for the first attempt")
}

func TestAMadeNameIsADNSLabelWhateverThePoolIsCalled(t *testing.T) {
	for _, claim := range []string{"a-000", strings.Repeat("x", 50) + "-9999", strings.Repeat("x", 55) + "-999999", strings.Repeat("x-", 40)} {
		name := identity.MadeNodeName(claim, "uid", 12)
		require.Empty(t, validation.IsDNS1123Label(name), name)
		require.True(t, strings.HasPrefix(name, claim[:20*len(claim)/100]))
	}
}

func TestTheNameThatRegisteredCountsMoreThanTheExpectedOne(t *testing.T) {
	c := claim("std-000", "", "", "")
	require.Equal(t, identity.MadeNodeName("std-000", c.UID, 1), identity.NodeName(c))
	c.Status.Attempts = 2
	require.Equal(t, identity.MadeNodeName("std-000", c.UID, 2), identity.NodeName(c))
	c.Status.NodeName = "worker-7"
	require.Equal(t, "worker-7", identity.NodeName(c))
}
