package app

import "time"

const (
	// mostTransfers is how many files are on their way at once.
	mostTransfers = 512
	// transferWait is how long somebody waits whose account has as many files on
	// their way as it may have.
	transferWait = time.Second
)
