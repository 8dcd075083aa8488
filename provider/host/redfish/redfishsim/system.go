package redfishsim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

func (b *BMC) systems(w http.ResponseWriter) {
	members := []map[string]string{ref("/redfish/v1/Systems/" + b.slot())}
	for n := range b.ExtraSystems {
		members = append(members, ref("/redfish/v1/Systems/other-"+strconv.Itoa(n)))
	}
	turn := b.served % len(members)
	members = append(members[turn:], members[:turn]...)
	answer(w, http.StatusOK, map[string]any{"@odata.id": "/redfish/v1/Systems", "Members": members, "Members@odata.count": len(members)})
}

// slot is what the system that answers is called.
func (b *BMC) slot() string {
	if b.blade != nil && b.blade.ID != "" {
		return b.blade.ID
	}
	return "1"
}

func (b *BMC) system(w http.ResponseWriter) {
	at := "/redfish/v1/Systems/" + b.slot()
	target := at + "/Actions/ComputerSystem.Reset"
	if b.TrailingSlash {
		target += "/"
	}
	if b.ForeignLinks {
		target = "@elsewhere.example" + target
	}
	reset := map[string]any{"target": target}
	if b.ActionInfo {
		reset["@Redfish.ActionInfo"] = at + "/ResetActionInfo"
	} else {
		reset["ResetType@Redfish.AllowableValues"] = b.Resets
	}
	boot := map[string]any{"BootSourceOverrideTarget@Redfish.AllowableValues": b.Boots, "BootSourceOverrideTarget": "None",
		"BootSourceOverrideEnabled": "Disabled"}
	if !b.BootInSettings {
		for key, value := range b.boot {
			boot[key] = value
		}
	}
	uuid, serial := b.UUID, "SN-1"
	if b.blade != nil {
		uuid, serial = b.blade.UUID, b.blade.Serial
	}
	out := map[string]any{"@odata.id": at, "@odata.type": b.SystemType, "Id": b.slot(), "Name": "System", "UUID": uuid,
		"SerialNumber": serial, "Manufacturer": b.Vendor, "Model": b.Model, "PowerState": b.power(), "Boot": boot,
		"Actions":            map[string]any{"#ComputerSystem.Reset": reset},
		"ProcessorSummary":   map[string]any{"Count": 2, "CoreCount": 32, "LogicalProcessorCount": 64},
		"MemorySummary":      map[string]any{"TotalSystemMemoryGiB": 256},
		"EthernetInterfaces": ref(at + "/EthernetInterfaces"), "Processors": ref(at + "/Processors"), "BiosVersion": nil}
	if b.NoReset {
		out["Actions"] = map[string]any{"Oem": map[string]any{}}
	}
	if b.BootInSettings {
		out["@Redfish.Settings"] = map[string]any{"SettingsObject": ref(at + "/Settings")}
	}
	if b.ETags {
		w.Header().Set("ETag", b.told())
	}
	answer(w, http.StatusOK, out)
}

func (b *BMC) patch(w http.ResponseWriter, r *http.Request, settings bool) {
	var ask struct{ Boot map[string]string }
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Boot) == 0 {
		fail(w, http.StatusBadRequest, "Base.1.5.MalformedJSON", "no boot")
		return
	}
	match := r.Header.Get("If-Match")
	switch {
	case b.BootInSettings != settings:
		fail(w, http.StatusBadRequest, "Base.1.5.PropertyNotWritable", "not here")
	case b.NeedsIfMatch && match == "":
		fail(w, http.StatusPreconditionRequired, "Base.1.5.PreconditionRequired", "If-Match")
	case match != "" && match != b.wanted():
		fail(w, http.StatusPreconditionFailed, "Base.1.5.PreconditionFailed", "changed")
	case b.PlainBoot && ask.Boot["BootSourceOverrideMode"] != "":
		fail(w, http.StatusBadRequest, "Base.1.5.PropertyNotWritable", "BootSourceOverrideMode")
	case b.unknown(ask.Boot):
		fail(w, http.StatusBadRequest, "Base.1.5.PropertyValueNotInList", "BootSourceOverrideTarget")
	case b.DisabledRefused && ask.Boot["BootSourceOverrideEnabled"] == "Disabled":
		fail(w, http.StatusBadRequest, "Base.1.5.PropertyValueNotInList", "BootSourceOverrideEnabled")
	default:
		if b.BootGlued && (ask.Boot["BootSourceOverrideEnabled"] == "Disabled" || ask.Boot["BootSourceOverrideTarget"] == "None") {
			answer(w, http.StatusOK, map[string]any{})
			return
		}
		boot := maps.Clone(b.boot)
		if boot == nil {
			boot = map[string]string{}
		}
		maps.Copy(boot, ask.Boot)
		if boot["BootSourceOverrideTarget"] == "None" {
			boot["BootSourceOverrideEnabled"] = "Disabled"
		}
		b.boot = boot
		if b.BootContinuous && ask.Boot["BootSourceOverrideEnabled"] == "Once" {
			b.boot["BootSourceOverrideEnabled"] = "Continuous"
		}
		answer(w, http.StatusOK, map[string]any{})
	}
}

// unknown says that a target is none of those that the BMC takes. One that is not named stays.
func (b *BMC) unknown(boot map[string]string) bool {
	target, named := boot["BootSourceOverrideTarget"]
	return named && (!slices.Contains(b.Boots, target) || target == "None" && b.NoneRefused)
}

func (b *BMC) reset(w http.ResponseWriter, r *http.Request) {
	var ask struct{ ResetType string }
	_ = json.NewDecoder(r.Body).Decode(&ask)
	on := b.settle()
	to, graceful := on, false
	switch ask.ResetType {
	case "On", "ForceOn":
		to = true
	case "ForceOff":
		to = false
	case "GracefulShutdown":
		to, graceful = false, true
	case "PushPowerButton":
		to, graceful = !on, on
	}
	early := !b.lastOp.IsZero() && b.Now().Sub(b.lastOp) < b.Quiet
	switch {
	case !slices.Contains(b.Resets, ask.ResetType):
		fail(w, http.StatusBadRequest, "Base.1.5.ActionParameterNotSupported", ask.ResetType)
	case b.ActionsRefuseIfMatch && r.Header.Get("If-Match") != "":
		fail(w, http.StatusPreconditionFailed, "Base.1.5.PreconditionFailed", "If-Match on an action")
	case b.NotReady && early:
		fail(w, http.StatusServiceUnavailable, "IDRAC.2.8.SYS518", "iDRAC is not ready.")
	case b.Strict && (early || to == on):
		fail(w, http.StatusBadRequest, "iLO.2.14.InvalidOperationForSystemState", "The operation was not successful due to the current power state.")
	case b.LostJobs && !b.lost:
		b.lost = true
		fail(w, http.StatusNotFound, "Base.1.5.ResourceMissingAtURI", "the job")
	default:
		b.lost = false
		b.lastOp = b.Now()
		b.resets = append(b.resets, ask.ResetType)
		if !b.Lies && !b.TaskFails && (!graceful || !b.Deaf) && b.to != to {
			b.to, b.at = to, b.Now().Add(b.Delay)
		}
		if b.Tasks {
			b.accepted(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// inventory answers what a probe asks for.
func (b *BMC) inventory(w http.ResponseWriter, path string) {
	at := "/redfish/v1/Systems/" + b.slot()
	resources := map[string]any{
		at + "/EthernetInterfaces":   members(at+"/EthernetInterfaces/2", at+"/EthernetInterfaces/1"),
		at + "/EthernetInterfaces/1": map[string]any{"Id": "1", "MACAddress": "52:54:00:00:00:01", "LinkStatus": "LinkUp"},
		at + "/EthernetInterfaces/2": map[string]any{"Id": "2", "MACAddress": "52:54:00:00:00:02", "LinkStatus": "LinkDown"},
		at + "/Processors":           members(at+"/Processors/CPU1", at+"/Processors/GPU1"),
		at + "/Processors/CPU1":      map[string]any{"Id": "CPU1", "ProcessorType": "CPU", "TotalThreads": 64},
		at + "/Processors/GPU1":      map[string]any{"Id": "GPU1", "ProcessorType": "GPU", "Manufacturer": "NVIDIA", "Model": "A100"},
	}
	if found, ok := resources[path]; ok {
		answer(w, http.StatusOK, found)
		return
	}
	fail(w, http.StatusNotFound, "Base.1.5.ResourceMissingAtURI", path)
}

func members(paths ...string) map[string]any {
	var all []map[string]string
	for _, p := range paths {
		all = append(all, ref(p))
	}
	return map[string]any{"Members": all, "Members@odata.count": len(all)}
}
