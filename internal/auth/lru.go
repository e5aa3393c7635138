package auth

import "github.com/hashicorp/golang-lru/v2/simplelru"

// newLRU returns a map of bounded size that evicts what was not used for longest. Its
// owner locks. The size is a constant of ours, at least 1.
func newLRU[K comparable, V any](size int) *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU[K, V](size, nil)
	if err != nil {
		panic(err)
	}
	return l
}
