// Package ipmi switches hosts over IPMI 2.0 (RMCP+, what ipmitool calls lanplus), with github.com/bougou/go-ipmi for the
// wire. It speaks no IPMI 1.5 and no cipher suite without authentication, integrity and encryption; the suites are pinned,
// because asking a BMC for its list takes 10 to 15 seconds. No program is started, so no password is in any argument list.
package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"github.com/muster-sh/muster/api/v1alpha1"
	"github.com/muster-sh/muster/provider"
	"github.com/muster-sh/muster/provider/dial"
	"github.com/muster-sh/muster/provider/host"
)

// DefaultSuites are tried where the Host names none: HMAC-SHA256 first, then the one that every BMC has.
var DefaultSuites = []int32{17, 3}

const (
	defaultPort = 623
	// timeout bounds the wait for one datagram, retries how often it is sent again; every command used here may be
	// carried out twice.
	timeout = 2 * time.Second
	retries = 2
)

// Config is how to reach one BMC.
type Config struct {
	Address     string // host or host:port
	Suites      []int32
	Credentials *dial.Credentials
	// Dial connects; nil for the guarded dialer.
	Dial func(network, address string) (net.Conn, error)
	// Timeout bounds the wait for one datagram; 2 s where it is zero.
	Timeout time.Duration
	// Breaker spares a BMC that does not answer, and its callers the wait; nil for none.
	Breaker *dial.Breaker
}

// BMC is one responder. One operation is under way at a time, each in a session of its own that it closes.
type BMC struct {
	config Config
	turn   chan struct{}
}

// Switch is the chassis of a BMC.
type Switch struct {
	BMC *BMC
	// Bound is the host that the chassis has to be, UUID its system UUID as the Host says.
	Bound host.Bound
	UUID  string
}

var _ host.Switch = Switch{}

// New returns a BMC; it calls nobody.
func New(config Config) *BMC {
	if len(config.Suites) == 0 {
		config.Suites = DefaultSuites
	}
	if config.Timeout == 0 {
		config.Timeout = timeout
	}
	if config.Dial == nil {
		config.Dial = dial.Dialer(5 * time.Second).Dial
	}
	return &BMC{config: config, turn: make(chan struct{}, 1)}
}

// dialer is the library's way of taking a dialer: it calls it a proxy.
type dialer func(network, address string) (net.Conn, error)

// Dial connects.
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// do runs f in a session.
func (s *BMC) do(ctx context.Context, f func(*client.Client) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("wait for the BMC's other operation: %w: %w", provider.ErrBusy, ctx.Err())
	}
	keys, err := s.keys(ctx)
	if err != nil {
		return err
	}
	c, err := s.connect(ctx, keys)
	if errors.Is(err, provider.ErrMisconfigured) { // perhaps the Secret changed a moment ago
		s.config.Credentials.Doubt()
		if fresh, failed := s.keys(ctx); failed == nil && fresh != keys { // the same once more could lock the account
			keys = fresh
			c, err = s.connect(ctx, keys)
		}
	}
	if err != nil {
		return err
	}
	defer closeAlways(ctx, c)
	return s.explain(f(c), keys.password)
}

type keys struct{ username, password dial.Secret }

func (s *BMC) keys(ctx context.Context) (keys, error) {
	known, err := s.config.Credentials.Get(ctx)
	if err != nil {
		return keys{}, &provider.Error{Op: "read credentials", Kind: provider.ErrMisconfigured, Err: err}
	}
	return keys{known["username"], known["password"]}, nil
}

// connect opens a session.
func (s *BMC) connect(ctx context.Context, k keys) (*client.Client, error) {
	c, err := s.client(k.username.Reveal(), k.password.Reveal())
	if err != nil {
		return nil, s.explain(err, k.password)
	}
	open := func() (answered bool, err error) {
		if err = s.explain(c.Connect(ctx), k.password); err != nil {
			closeAlways(ctx, c)
		}
		return !errors.Is(err, provider.ErrUnknown), err
	}
	if s.config.Breaker == nil {
		_, err = open()
	} else if err = s.config.Breaker.Do(ctx, open); errors.Is(err, dial.ErrOpen) {
		err = &provider.Error{Op: "BMC " + s.config.Address, Kind: provider.ErrBusy, Err: err}
	}
	return c, err
}

// closeAlways closes the session also when nobody waits any more: BMCs have few.
func closeAlways(ctx context.Context, c *client.Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	_ = c.Close(ctx)
}

func (s *BMC) client(username, password string) (*client.Client, error) {
	if username == "" || password == "" || len(password) > 20 {
		return nil, &provider.Error{Op: "log in", Kind: provider.ErrMisconfigured,
			Err: errors.New("username and password are needed, and IPMI takes at most 20 bytes of password")}
	}
	name, port := s.config.Address, defaultPort
	if h, p, err := net.SplitHostPort(s.config.Address); err == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return nil, &provider.Error{Op: "read power.address", Kind: provider.ErrMisconfigured, Err: err}
		}
		name, port = h, int(n)
	}
	c, err := client.NewClient(name, port, username, password)
	if err != nil {
		return nil, &provider.Error{Op: "log in", Kind: provider.ErrMisconfigured, Err: err}
	}
	suites := make([]types.CipherSuiteID, len(s.config.Suites))
	for i, id := range s.config.Suites {
		suites[i] = types.CipherSuiteID(id) //nolint:gosec // the API allows 3, 8, 12 and 17
	}
	address := net.JoinHostPort(name, strconv.Itoa(port))
	connect := dialer(func(network, _ string) (net.Conn, error) { return s.config.Dial(network, address) })
	return c.WithInterface(client.InterfaceLanplus).WithCipherSuiteID(suites...).WithTimeout(s.config.Timeout).WithRetry(retries).
		WithMaxPrivilegeLevel(types.PrivilegeLevelOperator).WithUDPProxy(connect), nil
}

// Read reads the chassis' power.
func (s Switch) Read(ctx context.Context) (host.Reading, error) {
	r := host.Reading{Power: host.Unknown}
	err := s.BMC.do(ctx, func(c *client.Client) error {
		status, err := c.GetChassisStatus(ctx)
		if err != nil {
			return err
		}
		r.Power = powerOf(status.PowerIsOn)
		r.Identity, r.UUIDs, err = s.met(ctx, c)
		return err
	})
	return r, err
}

// met is which machine the BMC says that it belongs to: its GUID, and without one the serial number of its board.
func (s Switch) met(ctx context.Context, c *client.Client) (met v1alpha1.MachineIdentity, uuids []string, err error) {
	uuids, err = guid(ctx, c)
	if err != nil {
		return met, nil, err
	}
	if len(uuids) > 0 {
		uuid := uuids[0] // in one order always: it is compared with itself
		if slices.ContainsFunc(uuids, func(u string) bool { return host.SameUUID(u, s.UUID) }) {
			uuid = s.UUID // in the spelling that is declared
		}
		return s.Bound.Met("", uuid, ""), uuids, nil
	}
	number, err := serial(ctx, c)
	return s.Bound.Met("", "", number), nil, err
}

// change runs f in a session, unless the BMC is another machine's than the recorded one.
func (s Switch) change(ctx context.Context, f func(*client.Client, v1alpha1.MachineIdentity) error) error {
	return s.BMC.do(ctx, func(c *client.Client) error {
		met, _, err := s.met(ctx, c)
		if err == nil {
			err = s.Bound.Sure(met)
		}
		if err != nil {
			return err
		}
		return f(c, met)
	})
}

func powerOf(on bool) host.Power {
	if on {
		return host.On
	}
	return host.Off
}

// On powers the chassis on; IPMI takes no offence at a host that is on already.
func (s Switch) On(ctx context.Context, device v1alpha1.BootDevice) error {
	return s.change(ctx, func(c *client.Client, _ v1alpha1.MachineIdentity) error {
		if selector, ok := selectors[device]; ok {
			if err := c.SetBootDevice(ctx, selector, types.BIOSBootTypeEFI, false); err != nil {
				return fmt.Errorf("set the boot device: %w", err)
			}
		} else if device != "" {
			return fmt.Errorf("boot device %s over IPMI: %w", device, provider.ErrRefused)
		}
		return control(ctx, c, chassis.ChassisControlPowerUp)
	})
}

var selectors = map[v1alpha1.BootDevice]types.BootDeviceSelector{
	v1alpha1.BootPXE: types.BootDeviceSelectorForcePXE, v1alpha1.BootDisk: types.BootDeviceSelectorForceHardDrive,
}

// ClearBoot takes back the boot flags, and reads them.
func (s Switch) ClearBoot(ctx context.Context) error {
	return s.change(ctx, func(c *client.Client, _ v1alpha1.MachineIdentity) error {
		if set, err := flagged(ctx, c); err != nil || !set {
			return err
		}
		if err := c.SetBootDevice(ctx, types.BootDeviceSelectorNoOverride, types.BIOSBootTypeEFI, false); err != nil {
			return fmt.Errorf("clear the boot device: %w", err)
		}
		set, err := flagged(ctx, c)
		if err == nil && set {
			err = &provider.Error{Op: "clear the boot device", Kind: provider.ErrBusy, Err: errors.New("the flags read as before")}
		}
		return err
	})
}

// flagged reads whether the boot flags name a device. Whether they are valid is not asked: BMCs clear that bit by themselves
// within a minute, or do not tell it.
func flagged(ctx context.Context, c *client.Client) (bool, error) {
	var flags types.BootOptionParam_BootFlags
	if err := c.GetSystemBootOptionsParamFor(ctx, &flags); err != nil {
		return false, fmt.Errorf("read the boot device: %w", err)
	}
	return flags.BootDeviceSelector != types.BootDeviceSelectorNoOverride, nil
}

// Shutdown presses the power button softly, as ACPI has it; a BMC that cannot says so.
func (s Switch) Shutdown(ctx context.Context, permit host.Permit) error {
	return s.change(ctx, func(c *client.Client, met v1alpha1.MachineIdentity) error {
		if err := s.Bound.Spend(ctx, permit, met); err != nil {
			return err
		}
		err := control(ctx, c, chassis.ChassisControlSoftShutdown)
		if unsupported(err) {
			return &provider.Error{Op: "shut down", Kind: host.ErrNoShutdown}
		}
		return err
	})
}

// Off takes the power away.
func (s Switch) Off(ctx context.Context, permit host.Permit) error {
	return s.change(ctx, func(c *client.Client, met v1alpha1.MachineIdentity) error {
		if err := s.Bound.Spend(ctx, permit, met); err != nil {
			return err
		}
		return control(ctx, c, chassis.ChassisControlPowerDown)
	})
}

func control(ctx context.Context, c *client.Client, what chassis.ChassisControl) error {
	_, err := c.ChassisControl(ctx, what)
	return err
}

// unsupported says that the BMC does not have this command.
func unsupported(err error) bool {
	var answer *types.ResponseError
	if !errors.As(err, &answer) {
		return false
	}
	switch answer.CompletionCode() {
	case types.CodeInvalidCommand, types.CodeParameterOutOfRange, types.CodeNotSupported:
		return true
	}
	return false
}

// explain gives an error one of the kinds, a hint, and no secret.
func (s *BMC) explain(err error, password dial.Secret) error {
	var known *provider.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	hint, kind := classify(err)
	return &provider.Error{Op: "BMC " + s.config.Address, Kind: kind, Hint: hint, Err: errors.New(dial.Redact(err.Error(), password))}
}

const hintAccount = "see username and password in the Secret, and that the account may use IPMI over LAN"

// classify says what an answer means. The library joins the errors of a log-in into a text, so those are told by what
// it writes: a code that does not match is a wrong password, status 0x0d a user that is not there (IPMI 2.0, table 13-15).
func classify(err error) (hint string, kind error) {
	var answer *types.ResponseError
	text := err.Error()
	switch {
	case errors.Is(err, provider.ErrRefused):
		return "", provider.ErrRefused
	case errors.Is(err, dial.ErrForbidden) || strings.Contains(text, dial.ErrForbidden.Error()):
		return "no BMC has this address", provider.ErrMisconfigured
	case errors.As(err, &answer):
		switch answer.CompletionCode() {
		case types.CodeNodeBusy, types.CodeOutOfSpace:
			return "", provider.ErrBusy
		case types.CodeInsufficientPrivilege:
			return "the BMC's account needs the privilege level OPERATOR on its LAN channel", provider.ErrMisconfigured
		case types.CodeInvalidCommand, types.CodeParameterOutOfRange, types.CodeNotSupported:
			return "", provider.ErrRefused
		}
	case status(text, 0x01, 0x0b):
		return "all sessions of the BMC are taken", provider.ErrBusy
	case status(text, 0x09, 0x0a):
		return "the BMC's account needs the privilege level OPERATOR on its LAN channel", provider.ErrMisconfigured
	case strings.Contains(text, "mismatch"), strings.Contains(text, "authentication failed"), status(text, 0x0d, 0x0f):
		return hintAccount, provider.ErrMisconfigured
	case status(text, 0x04, 0x05, 0x10, 0x11):
		return "the BMC takes none of power.cipherSuites", provider.ErrMisconfigured
	}
	return "", provider.ErrUnknown
}

// status reports whether one of these RMCP+ status codes is in a text of the library.
func status(text string, codes ...uint8) bool {
	for _, code := range codes {
		if strings.Contains(text, fmt.Sprintf("RMCP+ status %#02x", code)) {
			return true
		}
	}
	return false
}
