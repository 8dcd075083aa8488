// Package recording keeps what a Muster saw and did, so that it can be replayed: objects as the watches brought them,
// calls of the scheduler with what was answered, and calls of providers with how they ended. It is written so that whoever
// is recorded never waits for it. What goes in is an allow-list (package file allow.go): a field that scheduling does not
// read is not copied.
//
// A recording is a folder of gzip files of JSON lines. The first line of a file is its Header, then come the objects that
// exist when it begins, then what happens. So every file can be read without those before it.
package recording
