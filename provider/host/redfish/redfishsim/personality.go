// Package redfishsim is a Redfish service with the habits of real BMCs, for tests: what its personalities allow, lack and
// get wrong was seen in trees and answers of those machines (docs/hosts.md has the sources). Time is the caller's.
package redfishsim

import "time"

// Personality is how a BMC behaves. The zero value is a service by the book without any reset type.
type Personality struct {
	Vendor, Product, Model string
	// SystemType is the @odata.type of a system.
	SystemType string
	// Resets are the reset types it takes; ActionInfo has them told in a resource of its own only.
	Resets     []string
	ActionInfo bool
	// NoReset has no reset action.
	NoReset bool
	// TrailingSlash is on the target of the reset.
	TrailingSlash bool
	// Strict answers a reset to the state that already is with 400 InvalidOperationForSystemState, and any reset within
	// Quiet of another one.
	Strict bool
	Quiet  time.Duration
	// NotReady answers a reset within Quiet of another one with 503 and SYS518 instead.
	NotReady bool

	// NoSessions has no session service, NoToken forgets X-Auth-Token, NoLocation the Location of a new session.
	NoSessions, NoToken, NoLocation bool
	// MaxSessions bounds the sessions; one more is answered with 503 RAC0218.
	MaxSessions int

	// ETags are sent; NeedsIfMatch answers a PATCH without one with 428, ActionsRefuseIfMatch a reset with one with 412.
	ETags, NeedsIfMatch, ActionsRefuseIfMatch bool
	// Tasks answers a reset with 202 and a task, told in one of the ways of TaskKind.
	Tasks    bool
	TaskKind TaskKind
	// TaskFails has the task end in an exception, without effect.
	TaskFails bool
	// BootInSettings takes the boot device only in the settings resource; PlainBoot refuses a mode beside it;
	// BootContinuous reads Continuous after Once.
	BootInSettings, PlainBoot, BootContinuous bool
	// BootStays keeps Once after the boot it was for; BootGlued takes a clearing and keeps it even then.
	BootStays, BootGlued bool
	// NoneRefused takes None as no boot device, DisabledRefused has Disabled follow from it and takes it from nobody.
	NoneRefused, DisabledRefused bool
	// TagKind is how ETags are told and wanted back.
	TagKind TagKind
	// Boots are the boot devices it allows.
	Boots []string

	// Delay is how long power takes to change, Transitions whether it says PoweringOn and PoweringOff meanwhile.
	Delay       time.Duration
	Transitions bool
	// Lies accepts resets and does nothing; Deaf does so with graceful ones only.
	Lies, Deaf bool
	// ExtraSystems are beside the one of the test, in an order that changes with each answer.
	ExtraSystems int
	// Tree is what a real service told; nil for what the personality says.
	Tree Tree
	// FreezesAt cuts every connection from the time on when so many requests come at once, until a cold reset.
	FreezesAt int
	// RequiresClose answers no second request on a connection.
	RequiresClose bool
	// LostJobs answers every other reset with 404.
	LostJobs bool
	// ForeignLinks leads the reset to another server.
	ForeignLinks bool
}

// TaskKind is how an accepted operation can be followed.
type TaskKind string

// The kinds of tasks that BMCs answer with.
const (
	TaskResource TaskKind = ""         // Location is a Task resource
	TaskMonitor  TaskKind = "monitor"  // Location is a task monitor: 202 until the end
	TaskInBody   TaskKind = "body"     // no Location; the body is the Task
	TaskAbsolute TaskKind = "absolute" // Location is a URL with the server's name
	TaskUntold   TaskKind = "untold"   // 202 and nothing else
	TaskGone     TaskKind = "gone"     // the Task cannot be found when it is asked for
)

// TagKind is how a BMC tells its ETags, and which it takes in If-Match.
type TagKind string

// The kinds of ETags.
const (
	TagWeak       TagKind = ""       // told and taken as a weak one
	TagWantStrong TagKind = "strong" // told as a weak one, taken as a strong one
	TagGzip       TagKind = "gzip"   // told with the suffix of a compressing proxy, taken without
)

var boots = []string{"None", "Pxe", "Hdd", "Cd", "UefiHttp"}

// The personalities. What is named here of a vendor is what differs between them, not all that they have.

// ILO5 is HPE iLO 5 of 2019: no graceful shutdown, strict about states, a slash at the end of the target.
func ILO5() Personality {
	return Personality{Vendor: "HPE", Product: "ProLiant DL360 Gen10", Model: "ProLiant DL360 Gen10",
		SystemType: "#ComputerSystem.v1_4_0.ComputerSystem", Resets: []string{"On", "ForceOff", "ForceRestart", "Nmi", "PushPowerButton"},
		TrailingSlash: true, Strict: true, Quiet: 5 * time.Second, ETags: true, PlainBoot: true, Boots: boots, Delay: 10 * time.Second}
}

// IDRAC9 is Dell iDRAC 9: eight sessions, 20 seconds between operations.
func IDRAC9() Personality {
	return Personality{Vendor: "Dell", Product: "Integrated Dell Remote Access Controller", Model: "PowerEdge R6515",
		SystemType:  "#ComputerSystem.v1_12_0.ComputerSystem",
		Resets:      []string{"On", "ForceOff", "ForceRestart", "GracefulRestart", "GracefulShutdown", "PushPowerButton", "Nmi", "PowerCycle"},
		MaxSessions: 8, NotReady: true, Quiet: 20 * time.Second, Boots: boots, Delay: 15 * time.Second}
}

// IDRAC10 is Dell iDRAC 10: the boot device in the settings only, no If-Match on actions.
func IDRAC10() Personality {
	p := IDRAC9()
	p.BootInSettings, p.ETags, p.ActionsRefuseIfMatch = true, true, true
	return p
}

// SupermicroX10 has types without versions and no transitions.
func SupermicroX10() Personality {
	return Personality{Product: "X10", Model: "X10DRT", SystemType: "#ComputerSystem.ComputerSystem",
		Resets: []string{"On", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "Nmi", "ForceOn"},
		ETags:  true, NeedsIfMatch: true, Boots: boots, Delay: 5 * time.Second}
}

// Quanta says what its power is doing meanwhile, and answers with tasks.
func Quanta() Personality {
	return Personality{Vendor: "Quanta", Product: "QuantaGrid", Model: "D52B-1U", SystemType: "#ComputerSystem.v1_3_0.ComputerSystem",
		Resets: []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart"}, Tasks: true, TaskKind: TaskMonitor, Transitions: true, Boots: boots,
		BootContinuous: true, Delay: 20 * time.Second}
}

// ActionInfoOnly tells its reset types in the action's description only, as the Cray EX235a does.
func ActionInfoOnly() Personality {
	return Personality{Product: "EX235a", Model: "EX235a", SystemType: "#ComputerSystem.v1_13_0.ComputerSystem",
		Resets: []string{"On", "ForceOff", "GracefulShutdown"}, ActionInfo: true, Boots: boots, Delay: 5 * time.Second}
}

// All are the personalities by name.
func All() map[string]Personality {
	return map[string]Personality{"iLO 5": ILO5(), "iDRAC 9": IDRAC9(), "iDRAC 10": IDRAC10(), "Supermicro X10": SupermicroX10(),
		"Quanta": Quanta(), "ActionInfo only": ActionInfoOnly()}
}
