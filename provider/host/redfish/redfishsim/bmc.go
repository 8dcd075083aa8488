package redfishsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// BMC is one simulated service with one system that counts, "1". It is an http.Handler. Fields are set before use.
type BMC struct {
	Personality
	UUID               string
	Username, Password string
	Now                func() time.Time

	mu       sync.Mutex
	blade    *Blade // in the slot, instead of the system of the test
	on, to   bool
	at       time.Time // when to is reached
	lastOp   time.Time
	boot     map[string]string
	sessions map[string]string // token by path
	opened   int
	served   int
	busy     int
	rebooted time.Time // when a cold reset ends
	frozen   bool
	lost     bool
	boots    time.Duration
	inside   atomic.Int64 // requests being answered
	resets   []string
	ons      int // how often it came on, and went off
	offs     int
	requests []string
}

// IsOn says whether the system is on.
func (b *BMC) IsOn() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.settle()
}

// Set switches the system by hand, at once.
func (b *BMC) Set(on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.on, b.to = on, on
}

// Blade is another system that a BMC tells of: a blade was moved, or the list shrank and names another one.
type Blade struct {
	// ID is what it is called, "1" where it took the place of the test's system.
	ID, UUID, Serial string
}

// Swap has another system answer from now on; nil has the test's own answer again. What is switched is the same: a reset that
// arrives while another system answers is one that went wrong.
func (b *BMC) Swap(other *Blade) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.blade = other
}

// Changed are the requests so far that change something of a system: all but reads and sessions.
func (b *BMC) Changed() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.requests), func(r string) bool {
		return strings.HasPrefix(r, http.MethodGet) || strings.Contains(r, "/Sessions")
	})
}

// Busy has the next n requests answered with 503.
func (b *BMC) Busy(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = n
}

// ColdReset has the BMC itself boot for so long: connections break, then it answers 503 for as long again. Its sessions and
// tasks are forgotten; the power of the system stays as it is.
func (b *BMC) ColdReset(lasts time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rebooted, b.sessions, b.frozen = b.Now().Add(2*lasts), nil, false
	b.boots = lasts
}

// Frozen says whether the BMC gave up under too many requests at a time.
func (b *BMC) Frozen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frozen
}

// down answers, or not, while the BMC boots or is frozen.
func (b *BMC) down(w http.ResponseWriter) bool {
	if b.FreezesAt > 0 && b.inside.Load() >= int64(b.FreezesAt) {
		b.frozen = true
	}
	left := b.rebooted.Sub(b.Now())
	switch {
	case b.frozen || left > b.boots:
		panic(http.ErrAbortHandler) // the connection is cut
	case left > 0:
		fail(w, http.StatusServiceUnavailable, "Base.1.5.ServiceShuttingDown", "the service is starting")
		return true
	}
	return false
}

// Went is whether the system is on, and how often it came on and went off by a reset.
func (b *BMC) Went() (on bool, ons, offs int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	on = b.settle()
	return on, b.ons, b.offs
}

// Deafen has the operating system not heed a graceful shutdown from now on.
func (b *BMC) Deafen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Deaf = true
}

// Taken are the reset types that were taken, in their order.
func (b *BMC) Taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.resets)
}

// Requests are the methods and paths so far.
func (b *BMC) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// Sessions is how many are open.
func (b *BMC) Sessions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions)
}

// Expire ends all sessions, as a reboot of the BMC does.
func (b *BMC) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = nil
}

// SetPassword changes the password; sessions stay.
func (b *BMC) SetPassword(password string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Password = password
}

// Boot is the boot device and whether it holds once.
func (b *BMC) Boot() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.boot["BootSourceOverrideTarget"] + "/" + b.boot["BootSourceOverrideEnabled"]
}

func (b *BMC) settle() bool {
	if b.on != b.to && !b.Now().Before(b.at) {
		b.on = b.to
		if b.on {
			b.ons++
		} else {
			b.offs++
		}
		if b.on && b.boot["BootSourceOverrideEnabled"] == "Once" && !b.BootStays && !b.BootGlued {
			b.boot = map[string]string{"BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
		}
	}
	return b.on
}

func (b *BMC) power() string {
	switch on := b.settle(); {
	case on == b.to && on:
		return "On"
	case on == b.to:
		return "Off"
	case b.Transitions && b.to:
		return "PoweringOn"
	case b.Transitions:
		return "PoweringOff"
	case on:
		return "On"
	}
	return "Off"
}

// ServeHTTP answers one request.
func (b *BMC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.inside.Add(1)
	defer b.inside.Add(-1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r.Method+" "+r.URL.Path)
	b.served++
	if b.RequiresClose && !r.Close {
		panic(http.ErrAbortHandler)
	}
	if b.down(w) {
		return
	}
	if b.busy > 0 {
		b.busy--
		fail(w, http.StatusServiceUnavailable, "Base.1.5.ServiceTemporarilyUnavailable", "try again later")
		return
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path == "/redfish/v1" && r.Method == http.MethodGet {
		if b.planted(w, r, path) {
			return
		}
		b.root(w)
		return
	}
	if path == "/redfish/v1/SessionService/Sessions" && r.Method == http.MethodPost && !b.NoSessions {
		b.openSession(w, r)
		return
	}
	if !b.known(r) {
		fail(w, http.StatusUnauthorized, "Base.1.5.NoValidSession", "no valid session")
		return
	}
	if r.Method == http.MethodDelete || !b.planted(w, r, path) {
		b.route(w, r, path)
	}
}

func (b *BMC) known(r *http.Request) bool {
	if user, pass, ok := r.BasicAuth(); ok {
		return user == b.Username && pass == b.Password
	}
	for _, token := range b.sessions {
		if token == r.Header.Get("X-Auth-Token") {
			return true
		}
	}
	return false
}

func (b *BMC) root(w http.ResponseWriter) {
	out := map[string]any{"@odata.id": "/redfish/v1", "@odata.type": "#ServiceRoot.v1_6_0.ServiceRoot", "Id": "RootService",
		"Name": "Root Service", "RedfishVersion": "1.9.0", "Vendor": b.Vendor, "Product": b.Product,
		"Systems": ref("/redfish/v1/Systems"), "Managers": ref("/redfish/v1/Managers")}
	if !b.NoSessions {
		out["Links"] = map[string]any{"Sessions": ref("/redfish/v1/SessionService/Sessions")}
		out["SessionService"] = ref("/redfish/v1/SessionService")
	}
	answer(w, http.StatusOK, out)
}

func (b *BMC) openSession(w http.ResponseWriter, r *http.Request) {
	var ask struct{ UserName, Password string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || ask.UserName != b.Username || ask.Password != b.Password {
		fail(w, http.StatusUnauthorized, "Base.1.5.ResourceAtUriUnauthorized", "bad login")
		return
	}
	if b.MaxSessions > 0 && len(b.sessions) >= b.MaxSessions {
		fail(w, http.StatusServiceUnavailable, "IDRAC.2.8.RAC0218", "The maximum number of user sessions is reached.")
		return
	}
	b.opened++
	at, token := fmt.Sprintf("/redfish/v1/SessionService/Sessions/%d", b.opened), fmt.Sprintf("token-%d-canary", b.opened)
	if b.sessions == nil {
		b.sessions = map[string]string{}
	}
	b.sessions[at] = token
	if !b.NoToken {
		w.Header().Set("X-Auth-Token", token)
	}
	if !b.NoLocation {
		w.Header().Set("Location", at)
	}
	answer(w, http.StatusCreated, map[string]any{"@odata.id": at, "Id": fmt.Sprint(b.opened)})
}

func (b *BMC) route(w http.ResponseWriter, r *http.Request, path string) {
	one := "/redfish/v1/Systems/" + b.slot()
	switch {
	case r.Method == http.MethodDelete && b.sessions[path] != "":
		delete(b.sessions, path)
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && path == "/redfish/v1/Systems":
		b.systems(w)
	case r.Method == http.MethodGet && path == one:
		b.system(w)
	case r.Method == http.MethodGet && path == one+"/Settings":
		w.Header().Set("ETag", b.told())
		answer(w, http.StatusOK, map[string]any{"@odata.id": one + "/Settings", "Id": "Settings", "Boot": b.boot})
	case r.Method == http.MethodGet && path == one+"/ResetActionInfo" && b.ActionInfo:
		answer(w, http.StatusOK, map[string]any{"@odata.id": path, "Id": "ResetActionInfo",
			"Parameters": []any{map[string]any{"Name": "ResetType", "Required": true, "AllowableValues": b.Resets}}})
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/redfish/v1/Systems/other-"):
		name := strings.TrimPrefix(path, "/redfish/v1/Systems/")
		answer(w, http.StatusOK, map[string]any{"@odata.id": path, "Id": name, "UUID": "00000000-0000-4000-8000-" + name, "PowerState": "On"})
	case r.Method == http.MethodPatch && (path == one || path == one+"/Settings"):
		b.patch(w, r, strings.HasSuffix(path, "Settings"))
	case r.Method == http.MethodPost && path == one+"/Actions/ComputerSystem.Reset":
		b.reset(w, r)
	default:
		if r.Method != http.MethodGet || !b.tasks(w, path) {
			b.inventory(w, path)
		}
	}
}

func ref(path string) map[string]string { return map[string]string{"@odata.id": path} }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, id, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"code": "Base.1.5.GeneralError",
		"message":               "A general error has occurred. See ExtendedInfo for more information.",
		"@Message.ExtendedInfo": []any{map[string]any{"MessageId": id, "Message": message, "Severity": "Warning"}}}})
}
