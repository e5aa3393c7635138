package jsonapi

import (
	"bufio"
	"context"
	"io"
	"net/http"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// databaseRoutes are those of an account's databases.
func (c codec) databaseRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), Serve: serve, EncodeError: encodeError}
	}
	long := func(r server.Route) server.Route {
		r.Timeout = service.LongestTransfer
		return r
	}
	const one = "/v1/databases/{name}"
	return []server.Route{
		route(http.MethodGet, "/v1/databases", c.databases),
		route(http.MethodGet, one, c.schema),
		route(http.MethodDelete, one, c.dropDatabase),
		route(http.MethodPost, one+"/query", c.queryDatabase),
		long(route(http.MethodGet, one+"/export", c.exportDatabase)),
		long(route(http.MethodPost, one+"/import", c.importDatabase)),
	}
}

// pageOf reads the parameters of a list that goes on behind a name.
func pageOf(r *server.Request, what string) (after string, limit int, err error) {
	values, err := parameters(r, "limit", "after")
	if err != nil {
		return "", 0, err
	}
	limit, err = pageLimit(values, what, largestPage)
	return values.Get("after"), limit, err
}

func (c codec) databases(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	after, limit, err := pageOf(r, "databases")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Databases(r.Context(), r.Caller, p, after, limit)
	reply := server.Response{Status: http.StatusOK, Meta: l.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendDatabases(nil, l.Databases, l.Next)
	return reply, nil
}

func (c codec) schema(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	after, limit, err := pageOf(r, "tables")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Schema(r.Context(), r.Caller, p, r.Variable, after, limit)
	reply := server.Response{Status: http.StatusOK, Meta: l.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(l.Origin))
	reply.Body = wire.AppendSchema(nil, r.Variable, l.Tables, l.Next)
	return reply, nil
}

func (c codec) dropDatabase(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	d, err := c.service.DropDatabase(r.Context(), r.Caller, p, r.Variable)
	reply := server.Response{Status: http.StatusOK, Meta: d.Meta}
	if err != nil {
		return reply, err
	}
	result := "removed"
	if d.Emptied {
		result = "emptied"
	}
	wire.SetJSON(h, r.Setting(d.Origin))
	reply.Body = wire.AppendDropped(nil, r.Variable, result)
	return reply, nil
}

func (c codec) queryDatabase(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if _, err := parameters(r); err != nil {
		return server.RejectBeforeAuth(err)
	}
	limits := c.service.LargestRequest()
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	q, err := wire.DecodeSQLQuery(body, r.DecodeLimits(body, limits))
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.QueryDatabase(r.Context(), r.Caller, p, r.Variable, q)
	reply := server.Response{Status: http.StatusOK, Meta: a.Meta}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	reply.Pieces = wire.ResultPieces(a.Results)
	return reply, nil
}

// exportFormat tells which format an export or import is in, by its parameters: CSV where a table is
// named, else SQL.
func exportFormat(r *server.Request) (table string, err error) {
	values, err := parameters(r, "format", "table")
	if err != nil {
		return "", err
	}
	table = values.Get("table")
	switch format := values.Get("format"); {
	case values.Has("table") && table == "":
		return "", fault.Invalid("table", "is empty: the name of a table fits, or leave it out for the whole database as SQL")
	case !values.Has("format"):
	case format != "sql" && format != "csv":
		return "", fault.Invalid("format", "is no format: sql and csv fit")
	case format == "csv" && table == "":
		return "", fault.Invalid("table", "is missing: CSV holds one table")
	case format == "sql" && table != "":
		return "", fault.Invalid("table", "does not fit: SQL holds the whole database, and csv one table")
	}
	return table, nil
}

// exportAtOnce is how much of an export is sent at a time.
const exportAtOnce = 64 << 10

func (c codec) exportDatabase(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	table, err := exportFormat(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	x, err := c.service.ExportDatabase(r.Context(), r.Caller, p, service.ExportOf{Name: r.Variable, Table: table, HeadOnly: r.Method == http.MethodHead})
	reply := server.Response{Status: http.StatusOK, Meta: x.Meta}
	if err != nil {
		return reply, err
	}
	if r.Method == http.MethodHead {
		x.Close()
	}
	file := wire.File{Name: r.Variable + ".sql", Type: "text/plain"}
	if table != "" {
		file = wire.File{Name: table + ".csv", Type: "text/csv"}
	}
	wire.SetDownload(h, r.Setting(x.Origin), file)
	h.Del("Content-Length") // nobody knows before it is written
	reply.StreamWhole = func(ctx context.Context, w io.Writer) error {
		defer x.Close()
		buffered := bufio.NewWriterSize(w, exportAtOnce)
		if err := x.Send(ctx, buffered); err != nil {
			return err
		}
		return buffered.Flush()
	}
	return reply, nil
}

func (c codec) importDatabase(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	table, err := exportFormat(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ImportDatabase(r.Context(), r.Caller, p, service.DatabaseImport{
		Name: r.Variable, Table: table, Size: r.ContentLength,
		Body: func() (io.Reader, error) { return r.BodyStream(service.LongestTransfer) },
	})
	reply := server.Response{Status: http.StatusOK, Meta: a.Meta}
	if err != nil {
		return reply, err
	}
	what := "statements"
	if table != "" {
		what = "rows"
	}
	wire.SetJSON(h, r.Setting(a.Origin))
	reply.Body = wire.AppendImported(nil, what, a.Count)
	return reply, nil
}
