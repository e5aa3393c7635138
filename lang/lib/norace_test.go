//go:build !race

package lib

const underRace = false
