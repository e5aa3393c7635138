//go:build !race

package runapi_test

const underRace = false
