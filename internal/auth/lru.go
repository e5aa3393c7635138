package auth

import "container/list"

// lru is a map of bounded size that forgets what was not used for longest. Its
// owner locks.
type lru[K comparable, V any] struct {
	most    int
	order   *list.List // of *entry, the last used first
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, order: list.New(), entries: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	e, ok := l.entries[key]
	if !ok {
		var none V
		return none, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*entry[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	if e, ok := l.entries[key]; ok {
		e.Value.(*entry[K, V]).value = value
		l.order.MoveToFront(e)
		return
	}
	l.entries[key] = l.order.PushFront(&entry[K, V]{key, value})
	if l.order.Len() > l.most {
		oldest := l.order.Back()
		l.order.Remove(oldest)
		delete(l.entries, oldest.Value.(*entry[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	if e, ok := l.entries[key]; ok {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}
