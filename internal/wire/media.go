package wire

import (
	"mime"
	"strings"
)

// The media types of requests.
const (
	JSONType = "application/json"
	FormType = "application/x-www-form-urlencoded"
	// MultipartType is that of a form in parts, as pages send their own.
	MultipartType = "multipart/form-data"
	// ZipType is that of a site in a zip file.
	ZipType = "application/zip"
)

// CheckEncoding checks the Content-Encoding of a request. The error is a
// *Refusal.
func CheckEncoding(contentEncoding string) error {
	if contentEncoding != "" && !strings.EqualFold(contentEncoding, "identity") {
		return unsupported("Content-Encoding", "is "+quote(contentEncoding)+": bodies are taken uncompressed")
	}
	return nil
}

// CheckType checks the Content-Type and Content-Encoding of a request, of which
// want is the one that its endpoint accepts. The error is a *Refusal.
func CheckType(want, contentType, contentEncoding string) error {
	if err := CheckEncoding(contentEncoding); err != nil {
		return err
	}
	if contentType == want {
		return nil
	}
	if contentType == "" {
		return unsupported("Content-Type", "is missing: "+want+" fits")
	}
	got, params, err := mime.ParseMediaType(contentType)
	if err != nil || got != want {
		return unsupported("Content-Type", "is "+quote(contentType)+": "+want+" fits")
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return unsupported("Content-Type", "is "+quote(contentType)+": "+want+" fits, with charset=utf-8 or nothing behind it")
		}
	}
	return nil
}

func unsupported(header, message string) *Refusal {
	return &Refusal{Code: UnsupportedMediaType, Field: header, Message: message}
}
