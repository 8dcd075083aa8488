package proxmox

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudgeTasks(t *testing.T) {
	for name, c := range map[string]struct {
		status, exit string
		want         verdict
	}{
		"running":               {"running", "", verdict{running: true}},
		"OK":                    {"stopped", "OK", verdict{}},
		"warnings are success":  {"stopped", "WARNINGS: 2", verdict{}},
		"an error":              {"stopped", "VM 100 already running", verdict{failure: "VM 100 already running"}},
		"an unexpected status":  {"stopped", "unexpected status", verdict{failure: "unexpected status"}},
		"no word how":           {"stopped", "", verdict{failure: "the task ended without saying how"}},
		"a text like a warning": {"stopped", "WARNINGS", verdict{failure: "WARNINGS"}},
	} {
		got, err := judge(c.status, c.exit)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := judge("", "OK")
	require.Error(t, err, "an answer without a status is none")
}

func TestTaskNames(t *testing.T) {
	id, err := parseUPID("UPID:pve:00004675:0005B36F:6A4A8EED:qmcreate:9101:root@pam!sdk:")
	require.NoError(t, err)
	require.Equal(t, "pve", id.node)
	require.Equal(t, "qmcreate", id.kind)
	for _, bad := range []string{"", "null", "UPID", "UPID:a:b:c:d:e:f", "UPID::1:2:3:qmstart:1:u:", "XPID:pve:1:2:3:qmstart:1:u:"} {
		_, err := parseUPID(bad)
		require.Error(t, err, bad)
	}
}

func TestResourcesAreReadTolerantly(t *testing.T) {
	v := &view{}
	for _, raw := range []string{
		`{"type":"qemu","vmid":"101","template":true,"maxmem":"1024","tags":"b;a","cpu":null,"new-in-10":{"a":1}}`,
		`{"type":"qemu","vmid":100,"template":0,"status":"unknown","node":"pve1","lock":"clone"}`,
		`{"type":"node","node":"b","status":"online","maxcpu":4}`, `{"type":"node","node":"a","status":"offline"}`,
		`{"type":"network","id":"x"}`, `{"type":"openvz"}`,
	} {
		require.NoError(t, v.add(json.RawMessage(raw)), raw)
	}
	v.sort()
	require.Equal(t, 100, v.guests[0].vmid())
	require.Equal(t, number(1), v.guests[1].Template)
	require.True(t, v.guests[1].tagged("a"))
	require.Equal(t, "a", v.hosts[0].Node)
	require.Error(t, v.add(json.RawMessage(`{"type":"qemu","vmid":"many"}`)))
	require.Error(t, v.add(json.RawMessage(`[]`)))
}

func TestRightsAreInherited(t *testing.T) {
	r := rights{"/": {"Sys.Audit": 1}, "/vms": {"VM.Audit": 1, "VM.Clone": 0}, "/vms/100": {"VM.PowerMgmt": 1}}
	require.True(t, r.has("/vms", "VM.Audit"))
	require.True(t, r.has("/vms/101", "VM.Audit"))
	require.True(t, r.has("/vms", "VM.Clone"))
	require.False(t, r.has("/vms/101", "VM.Clone"), "it does not propagate")
	require.False(t, r.has("/vms/100", "VM.Audit"), "the nearer entry decides")
	require.True(t, r.has("/nodes/pve1", "Sys.Audit"))
	require.False(t, rights{}.has("/nodes/pve1", "Sys.Audit"))
	require.True(t, r.sees(""))
	require.False(t, rights{"/pool/a": {"VM.Audit": 1}}.sees("b"))
	require.True(t, rights{"/pool/a": {"VM.Audit": 1}}.sees("a"))
}

func TestMarksSurviveTheNotes(t *testing.T) {
	m := mark{Provider: "px", Claim: "std-000", UID: "u", Attempt: 2, Pool: "std", Shape: "m", Keep: true, Stage: stageMade}
	for _, description := range []string{"", "worker", "muster: is what makes this"} {
		got, ok := readMark(m.note(description))
		if description == "muster: is what makes this" {
			require.False(t, ok, "what cannot be read is not ours")
			continue
		}
		require.True(t, ok)
		require.Equal(t, m, got)
	}
	for _, foreign := range []string{"", "qmclone temporary file\n", "muster: {}", "muster: {\"provider\":\"px\"}", "see muster: " + m.note("")[70:]} {
		_, ok := readMark(foreign)
		require.False(t, ok, foreign)
	}
}

func TestUUIDsAreUUIDs(t *testing.T) {
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, uuidOf("u", 1))
	require.NotEqual(t, uuidOf("u", 1), uuidOf("u", 2))
	require.NotEqual(t, uuidOf("u", 1), uuidOf("v", 1))
}

func TestWhatIsReadOfAConfiguration(t *testing.T) {
	var c vmConfig
	require.NoError(t, json.Unmarshal([]byte(`{"memory":"2048","cores":2,"template":1,"smbios1":"manufacturer=QQ==,uuid=abc,base64=1",
		"ide2":"shared:cloudinit,media=cdrom","scsi1":"slow:disk,size=1T","scsi0":"local-zfs:vm-1-disk-0,iothread=1,size=8G"}`), &c))
	device, storage := c.bootDisk()
	require.Equal(t, [2]string{"scsi0", "local-zfs"}, [2]string{device, storage})
	require.Equal(t, int64(8)<<30, c.diskSize("scsi0"))
	require.Equal(t, int64(1)<<40, c.diskSize("scsi1"))
	require.True(t, c.Template)
	require.Equal(t, "abc", c.smbiosUUID())
	require.Equal(t, "uuid=new,manufacturer=QQ==,base64=1", c.withUUID("new"))
}

func TestVMOptionsAreCheckedBeforeAMachineIsMade(t *testing.T) {
	require.NoError(t, checkOptions(map[string]string{"balloon": "0", "serial0": "socket", "net3": "virtio,bridge=vmbr0"}))
	require.ErrorContains(t, checkOptions(map[string]string{"ballon": "0"}), `"ballon" is no setting of a VM`)
	require.Error(t, checkOptions(map[string]string{"lock": "backup"}))
	require.Error(t, checkOptions(map[string]string{"args": "-s"}), "only root may")
}

func FuzzReadMark(f *testing.F) {
	f.Add(mark{Provider: "px", UID: "u", Stage: stageMade}.note("x"))
	f.Fuzz(func(t *testing.T, notes string) {
		if m, ok := readMark(notes); ok && (m.Provider == "" || m.Stage == "") {
			t.Fatalf("half a mark: %+v", m)
		}
	})
}
