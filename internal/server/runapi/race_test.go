//go:build race

package runapi_test

// underRace says that the race detector is on, which finds the races of the library that
// drives the browser.
const underRace = true
