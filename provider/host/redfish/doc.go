// Package redfish switches hosts through the Redfish service of their BMC, with github.com/stmcginnis/gofish for the wire.
//
// What BMCs answer is not believed: a system is chosen by its name and never by its place in a list, a session without a
// token is none, an accepted reset is no reset, and links that lead to another server are not followed. The library
// changes no transport: it never sees one.
package redfish
