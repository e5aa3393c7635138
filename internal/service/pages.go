package service

import (
	"strconv"

	"ql/internal/fault"
)

// cutPage cuts a listing to a page: where one more was found than fits, the next page begins behind
// the last of this one.
func cutPage[T any](found []T, limit int, place func(*T) string) (page []T, next string) {
	if len(found) <= limit {
		return found, ""
	}
	return found[:limit], place(&found[limit-1])
}

// beforeNumber reads where a page begins whose entries have numbers; "" is the newest. What they are
// is for the error.
func beforeNumber(before, what string) (int64, error) {
	if before == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(before, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.Invalid("before", "is no number of %s: next of the page before fits", what)
	}
	return n, nil
}
