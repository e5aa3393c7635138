package fault

import "maps"

// Code names a kind of error; callers of the service may rely on it.
type Code string

// The codes. Scripts may raise others of their own.
const (
	InvalidRequest Code = "invalid_request"

	BadCredentials Code = "bad_credentials"

	OriginNotAllowed   Code = "origin_not_allowed"
	ScriptNotPublished Code = "script_not_published"
	ScopeMissing       Code = "scope_missing"
	ConfirmRequired    Code = "confirm_required"
	AccessDenied       Code = "access_denied"

	NotFound     Code = "not_found"
	JobNotFound  Code = "job_not_found"
	JobEnded     Code = "job_ended"
	FileNotFound Code = "file_not_found"
	FileGone     Code = "file_gone"

	ScriptNotFound Code = "script_not_found"

	IsFolder       Code = "is_folder"
	NotAFolder     Code = "not_a_folder"
	FolderNotEmpty Code = "folder_not_empty"

	PreconditionFailed  Code = "precondition_failed"
	RangeNotSatisfiable Code = "range_not_satisfiable"

	MisdirectedRequest Code = "misdirected_request"

	MethodNotAllowed     Code = "method_not_allowed"
	UnsupportedMediaType Code = "unsupported_media_type"
	TooLarge             Code = "too_large"

	NotPaused             Code = "not_paused"
	IdempotencyInProgress Code = "idempotency_in_progress"
	SessionBusy           Code = "session_busy"
	ScheduleBusy          Code = "schedule_busy"
	AlreadyExists         Code = "already_exists"
	ContentMissing        Code = "content_missing"

	SyntaxError         Code = "syntax_error"
	ScriptFailed        Code = "script_failed"
	DivisionByZero      Code = "division_by_zero"
	InvalidPath         Code = "invalid_path"
	SQLError            Code = "sql_error"
	AddressNotAllowed   Code = "address_not_allowed"
	InvalidURL          Code = "invalid_url"
	LimitExceeded       Code = "limit_exceeded"
	InvalidFields       Code = "invalid_fields"
	WrongReply          Code = "wrong_reply"
	DomainNotProven     Code = "domain_not_proven"
	IdempotencyMismatch Code = "idempotency_mismatch"
	NotAvailable        Code = "not_available"

	RateLimited   Code = "rate_limited"
	QuotaExceeded Code = "quota_exceeded"

	Internal           Code = "internal"
	OutcomeUnknown     Code = "outcome_unknown"
	Overloaded         Code = "overloaded"
	StorageUnavailable Code = "storage_unavailable"
)

// HTTP statuses by number: this package knows nothing of HTTP but them.
const (
	unprocessable = 422
	internalError = 500
)

// statuses has a row for every code. file_not_found and quota_exceeded are
// those of a request; raised by a script they are 422 like all its errors.
var statuses = map[Code]int{
	InvalidRequest: 400,

	BadCredentials: 401,

	OriginNotAllowed:   403,
	ScriptNotPublished: 403,
	ScopeMissing:       403,
	ConfirmRequired:    403,
	AccessDenied:       403,

	NotFound:     404,
	JobNotFound:  404,
	JobEnded:     410,
	FileNotFound: 404,

	ScriptNotFound: 404,

	MethodNotAllowed: 405,

	NotPaused:             409,
	IdempotencyInProgress: 409,
	SessionBusy:           409,
	ScheduleBusy:          409,
	AlreadyExists:         409,
	ContentMissing:        409,

	IsFolder:       409,
	NotAFolder:     409,
	FolderNotEmpty: 409,

	FileGone: 410,

	PreconditionFailed: 412,

	TooLarge: 413,

	UnsupportedMediaType: 415,

	RangeNotSatisfiable: 416,

	MisdirectedRequest: 421,

	SyntaxError:         unprocessable,
	ScriptFailed:        unprocessable,
	DivisionByZero:      unprocessable,
	InvalidPath:         unprocessable,
	SQLError:            unprocessable,
	AddressNotAllowed:   unprocessable,
	InvalidURL:          unprocessable,
	LimitExceeded:       unprocessable,
	InvalidFields:       unprocessable,
	WrongReply:          unprocessable,
	DomainNotProven:     unprocessable,
	IdempotencyMismatch: unprocessable,
	NotAvailable:        unprocessable,

	RateLimited:   429,
	QuotaExceeded: 429,

	Internal: internalError,
	// Not 503, which programs on the way may answer by sending the request again.
	OutcomeUnknown: internalError,

	Overloaded:         503,
	StorageUnavailable: 503,
}

// Statuses returns the table of codes and their statuses, for documentation.
func Statuses() map[Code]int { return maps.Clone(statuses) }
