package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/wire"
)

// built is what web was built into. The names have a hash of the content, but for those of the build's
// own lists.
//
//go:embed assets
var built embed.FS

//go:embed icon.svg
var icon []byte

// assetPrefix is what the addresses of assets begin with, as web/vite.config.ts says too.
const assetPrefix = prefix + "assets/"

// file is an asset as it is sent: compressed at its first use, once for all.
type file struct {
	mediaType string
	plain     []byte
	packed    func() []byte
}

var mediaTypes = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// chunk is a file of the build, as its list has it.
type chunk struct {
	File           string   `json:"file"`
	Source         string   `json:"src"`
	IsEntry        bool     `json:"isEntry"`
	IsDynamicEntry bool     `json:"isDynamicEntry"`
	Imports        []string `json:"imports"`
	Styles         []string `json:"css"`
}

// entry is what the shell loads at first.
type entry struct {
	Script, Icon    string
	Styles, Imports []string
}

const (
	list      = "manifest.json" // of the build, which names what belongs together
	sourceSum = "source.sum"    // of what it was built of
)

var (
	files  = map[string]*file{}
	chunks = map[string]chunk{}
	start  = readBuild()
)

// readBuild reads what is embedded. A build that makes no sense is no program.
func readBuild() (e entry) {
	found, err := built.ReadDir("assets")
	must(err)
	for _, f := range found {
		content, err := built.ReadFile("assets/" + f.Name())
		must(err)
		switch f.Name() {
		case list:
			must(json.Unmarshal(content, &chunks))
		case sourceSum:
		default:
			addFile(f.Name(), content)
		}
	}
	sum := sha256.Sum256(icon)
	e.Icon = "icon-" + hex.EncodeToString(sum[:4]) + ".svg"
	addFile(e.Icon, icon)
	e.Icon = assetPrefix + e.Icon
	for name, c := range chunks {
		if c.IsEntry {
			e.Script = assetPrefix + c.File
			for _, needed := range closure(name) {
				if needed != name {
					e.Imports = append(e.Imports, assetPrefix+chunks[needed].File)
				}
				for _, style := range chunks[needed].Styles {
					e.Styles = append(e.Styles, assetPrefix+style)
				}
			}
		}
	}
	return e
}

// closure returns a chunk and all that it imports before it runs, in one order for all.
func closure(name string) []string {
	all := []string{name}
	for i := 0; i < len(all); i++ {
		for _, imported := range chunks[all[i]].Imports {
			if !slices.Contains(all, imported) {
				all = append(all, imported)
			}
		}
	}
	slices.Sort(all)
	return all
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func addFile(name string, content []byte) {
	files[name] = &file{mediaTypes[path.Ext(name)], content, sync.OnceValue(func() []byte { return pack(content) })}
}

func pack(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(err)
	_, err = w.Write(content)
	must(err)
	must(w.Close())
	return b.Bytes()
}

// asset answers with a part of the pages, whose address names its content.
func (p *pages) asset(h http.Header, r *server.Request) (server.Response, error) {
	f, ok := files[r.Variable]
	if !ok || p.isElsewhere(r) || strings.Contains(r.Variable, "/") {
		return server.Response{}, fault.New(fault.NotFound, "there is no such asset: load the page again that names it")
	}
	body := f.plain
	wire.SetAsset(h, r.Setting(""), f.mediaType)
	if r.TakesGzip() {
		h.Set("Content-Encoding", "gzip")
		body = f.packed()
	}
	return server.Response{Status: http.StatusOK, Body: body}, nil
}
