//go:build race

package lib

// underRace says that the race detector is on. It makes pools forget what they
// were given, so that the regexp package allocates its state anew each time.
const underRace = true
