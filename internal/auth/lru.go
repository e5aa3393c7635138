package auth

import "container/list"

// lru is a map of bounded size that evicts what was not used for longest. Its owner locks.
type lru[K comparable, V any] struct {
	size    int
	order   *list.List // of *lruEntry, the last used first
	entries map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, order: list.New(), entries: map[K]*list.Element{}}
}

func (l *lru[K, V]) Len() int { return len(l.entries) }

func (l *lru[K, V]) Get(key K) (value V, ok bool) {
	e, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*lruEntry[K, V]).value, true
}

func (l *lru[K, V]) Add(key K, value V) {
	if e, ok := l.entries[key]; ok {
		e.Value.(*lruEntry[K, V]).value = value
		l.order.MoveToFront(e)
		return
	}
	l.entries[key] = l.order.PushFront(&lruEntry[K, V]{key, value})
	if l.order.Len() > l.size {
		oldest := l.order.Back()
		l.order.Remove(oldest)
		delete(l.entries, oldest.Value.(*lruEntry[K, V]).key)
	}
}

func (l *lru[K, V]) Remove(key K) {
	if e, ok := l.entries[key]; ok {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}
