package site

import (
	"path"
	"strings"
)

// mediaTypes are the types of files by the ending of their names. What browsers read as text is
// UTF-8.
var mediaTypes = map[string]string{
	".avif": "image/avif", ".bmp": "image/bmp", ".css": "text/css", ".csv": "text/csv", ".eot": "application/vnd.ms-fontobject", ".flac": "audio/flac",
	".gif": "image/gif", ".gz": "application/gzip", ".htm": "text/html", ".html": "text/html", ".ico": "image/vnd.microsoft.icon", ".ics": "text/calendar",
	".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "text/javascript", ".json": "application/json", ".log": "text/plain", ".m4a": "audio/mp4",
	".map": "application/json", ".md": "text/markdown", ".mjs": "text/javascript", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".ogg": "audio/ogg",
	".ogv": "video/ogg", ".otf": "font/otf", ".pdf": "application/pdf", ".png": "image/png", ".rss": "application/rss+xml", ".svg": "image/svg+xml",
	".tif": "image/tiff", ".tiff": "image/tiff", ".ttf": "font/ttf", ".txt": "text/plain", ".vtt": "text/vtt", ".wasm": "application/wasm",
	".wav": "audio/wav", ".webm": "video/webm", ".webmanifest": "application/manifest+json", ".webp": "image/webp", ".woff": "font/woff",
	".woff2": "font/woff2", ".xhtml": "application/xhtml+xml", ".xml": "application/xml", ".zip": "application/zip",
}

// IsCompressible tells whether files of a name are text, or something else that gzip makes shorter.
func IsCompressible(name string) bool {
	kind := mediaTypes[strings.ToLower(path.Ext(name))]
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "json") || strings.HasSuffix(kind, "xml") || kind == "application/wasm" ||
		kind == "image/bmp" || kind == "image/vnd.microsoft.icon" || kind == "font/ttf" || kind == "font/otf" || kind == "application/vnd.ms-fontobject"
}

// IsHashed tells whether a name has a hash of the content in it, as bundlers write one before the
// ending: 8 or more hexadecimal digits, of which some are letters, since a date has none.
func IsHashed(name string) bool {
	base := strings.TrimSuffix(name, path.Ext(name))
	hash := base[strings.LastIndexAny(base, "-.")+1:]
	return len(hash) >= 8 && len(hash) < len(base) && strings.Trim(hash, "0123456789abcdef") == "" && strings.ContainsAny(hash, "abcdef") && strings.ContainsAny(hash, "0123456789")
}

// MediaType returns the type of a file by the ending of its name; application/octet-stream for one
// that says nothing.
func MediaType(name string) string {
	kind, ok := mediaTypes[strings.ToLower(path.Ext(name))]
	switch {
	case !ok:
		return "application/octet-stream"
	case strings.HasPrefix(kind, "text/"):
		return kind + "; charset=utf-8"
	}
	return kind
}
