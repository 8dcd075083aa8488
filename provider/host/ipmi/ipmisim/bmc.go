// Package ipmisim is an IPMI responder on UDP for tests: the BMC server of go-ipmi around a chassis whose power follows the
// caller's clock.
package ipmisim

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/handlers"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
)

// Config is how a BMC behaves.
type Config struct {
	Username, Password string
	// Suites are the cipher suites it takes; all when empty.
	Suites []types.CipherSuiteID
	// Delay is how long power takes to change.
	Delay time.Duration
	// Lies accepts power-on without effect, Deaf soft shutdown; NoShutdown refuses it.
	Lies, Deaf, NoShutdown bool
	// BootStays takes boot devices and keeps the one there is.
	BootStays bool
	// GUID is what it says the system is.
	GUID [16]byte
	// NoGUID has it tell none, BoardSerial is in its inventory; empty for no inventory.
	NoGUID      bool
	BoardSerial string
	Now         func() time.Time
}

// BMC is a responder.
type BMC struct {
	Config
	Address string

	mu     sync.Mutex
	on, to bool
	at     time.Time
	ops    []string
	boot   types.BootDeviceSelector
	users  *bmc.UserStore
	// rebooted is when a cold reset ends.
	rebooted time.Time
}

// userID is the slot of the one account.
const userID = 2

// unplugged drops what arrives while the BMC itself boots.
type unplugged struct {
	*udp.Conn
	bmc *BMC
}

// ReadFrom takes the next datagram that the BMC is there for.
func (u unplugged) ReadFrom(buffer []byte) (int, net.Addr, error) {
	for {
		n, from, err := u.Conn.ReadFrom(buffer)
		if err != nil || !u.bmc.down() {
			return n, from, err
		}
	}
}

// ColdReset has the BMC answer nothing for so long. The power of the chassis stays as it is.
func (b *BMC) ColdReset(lasts time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rebooted = b.Now().Add(lasts)
}

func (b *BMC) down() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Now().Before(b.rebooted)
}

// Listen starts a responder on loopback; it ends with ctx.
func Listen(ctx context.Context, c Config) (*BMC, error) {
	b := &BMC{Config: c}
	hardware := &hardware{HAL: mock.New(), chassis: &chassis{Chassis: &mock.Chassis{}, bmc: b}}
	var options []bmc.Option
	if len(c.Suites) > 0 {
		options = append(options, bmc.WithCipherSuites(c.Suites))
	}
	core := bmc.New(bmc.DeviceInfo{IPMIVersion: 0x20}, c.GUID, hardware, options...)
	if c.BoardSerial != "" {
		inventory, err := types.PackFRU(types.FRUPackConfig{Board: &types.FRUPackBoard{Mfg: "Muster", Product: "Board", Serial: c.BoardSerial, MfgDate: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}})
		if err == nil {
			err = hardware.Storage().FRU().Write(ctx, 0, inventory)
		}
		if err != nil {
			return nil, err
		}
	}
	user, err := core.Users.Add(userID, c.Username)
	if err != nil {
		return nil, err
	}
	user.SetPassword([]byte(c.Password))
	user.Enabled = true
	user.ChannelAccess[1] = bmc.UserChannelAccess{MaxPrivilege: bmc.PrivilegeLevelAdministrator, Enabled: true}
	b.users = core.Users
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, err
	}
	b.Address = conn.LocalAddr().String()
	s := server.NewServer(core, unplugged{udp.Wrap(conn, udp.WithReadTimeout(time.Second)), b}, server.WithHandlerRegistry(b.commands()))
	go func() { _ = s.Serve(ctx) }()
	context.AfterFunc(ctx, func() { _ = s.Close() })
	return b, nil
}

// Is has the BMC tell another GUID from now on: its address is another machine's.
func (b *BMC) Is(guid [16]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.GUID = guid
}

// IsOn says whether the chassis is on.
func (b *BMC) IsOn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settle()
}

// Set switches by hand, at once.
func (b *BMC) Set(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on, b.to = on, on
}

// commands are those of the library, and the system's GUID, which it has not.
func (b *BMC) commands() *handlers.Registry {
	all := handlers.NewRegistry()
	handlers.RegisterAllHandlers(all)
	all.RegisterFunc(types.CommandGetSystemGUID, func(context.Context, *handlers.HandlerContext, []byte) ([]byte, types.CompletionCode, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.NoGUID || b.GUID == [16]byte{} {
			return nil, types.CodeInvalidCommand, nil
		}
		return b.GUID[:], types.CodeOK, nil
	})
	return all
}

// SetPassword changes the password.
func (b *BMC) SetPassword(password string) error {
	return b.users.Upsert(userID, func(u *bmc.User) error { u.SetPassword([]byte(password)); return nil })
}

// SetBoot sets the boot device by hand.
func (b *BMC) SetBoot(device types.BootDeviceSelector) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.boot = device
}

// Ops are the power operations taken, in their order.
func (b *BMC) Ops() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.ops)
}

// Boot is the boot device that was set last.
func (b *BMC) Boot() types.BootDeviceSelector {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.boot
}

func (b *BMC) settle() bool {
	if b.on != b.to && !b.Now().Before(b.at) {
		b.on = b.to
	}
	return b.on
}

func (b *BMC) power(op string, to, effect bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	b.ops = append(b.ops, op)
	if effect && b.to != to {
		b.to, b.at = to, b.Now().Add(b.Delay)
	}
}

// hardware puts the chassis into the library's own hardware.
type hardware struct {
	*mock.HAL
	chassis *chassis
}

// Chassis is the chassis of the BMC.
func (h *hardware) Chassis() hal.ChassisHAL { return h.chassis }

type chassis struct {
	*mock.Chassis
	bmc *BMC
}

// PowerState says whether it is on.
func (c *chassis) PowerState(context.Context) (bool, error) { return c.bmc.IsOn(), nil }

// SetPower switches it.
func (c *chassis) SetPower(_ context.Context, on bool) error {
	if on {
		c.bmc.power("on", true, !c.bmc.Lies)
	} else {
		c.bmc.power("off", false, true)
	}
	return nil
}

var errNoShutdown = errors.New("no soft shutdown")

// WarmReset is what the server calls for a soft shutdown.
func (c *chassis) WarmReset(context.Context) error {
	if c.bmc.NoShutdown {
		return errors.Join(hal.ErrNotSupported, errNoShutdown)
	}
	c.bmc.power("shutdown", false, !c.bmc.Deaf)
	return nil
}

// SetBootFlags notes the boot device.
func (c *chassis) SetBootFlags(_ context.Context, flags *types.BootOptionParam_BootFlags) error {
	c.bmc.mu.Lock()
	defer c.bmc.mu.Unlock()
	if !c.bmc.BootStays {
		c.bmc.boot = flags.BootDeviceSelector
	}
	return nil
}

// GetBootFlags returns the boot device.
func (c *chassis) GetBootFlags(context.Context) (*types.BootOptionParam_BootFlags, error) {
	c.bmc.mu.Lock()
	defer c.bmc.mu.Unlock()
	return &types.BootOptionParam_BootFlags{BootDeviceSelector: c.bmc.boot}, nil
}
