// Package pagetest has texts that run where a page does not escape them as their place wants it, and tells
// whether they did.
package pagetest

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Harmless stands where a hostile text will.
const Harmless = "harmless"

// Hostile are texts that set window.pwned, load something from 127.0.0.1:9 or change the page, where they are not
// escaped.
func Hostile() []string {
	list := slices.Clone(whole)
	for _, end := range ends {
		for _, code := range codes {
			list = append(list, end+code)
		}
	}
	return list
}

// ends end what a text may stand in, and codes are run there.
var (
	ends  = []string{`"/>`, `'/>`, "`>", `</script>`, `</style >`, `</noscript>`, `</select>`, `</a>`, `</svg>`, `</p>`, `*/</style>`, `\\"/>`, `;}</style>`}
	codes = []string{
		`<script>window.pwned=1</script>`, `<img src=x onerror=window.pwned=1>`, `<svg/onload=window.pwned=1>`, `<iframe src=javascript:parent.pwned=1>`,
		`<input autofocus onfocus=window.pwned=1>`, `<a href=javascript:window.pwned=1>x</a>`, `<base href=//127.0.0.1:9/>`, `<form action=//127.0.0.1:9/>`,
		`<link rel=stylesheet href=//127.0.0.1:9/x.css>`, `<style>body{--pwned:1}</style>`,
	}
)

var whole = []string{
	`<script>window.pwned=1</script>`, `"><script>window.pwned=1</script>`, `'><script>window.pwned=1</script>`, `</title><script>window.pwned=1</script>`,
	`</textarea><script>window.pwned=1</script>`, `</option></select><script>window.pwned=1</script>`, `</style><script>window.pwned=1</script>`, `--><script>window.pwned=1</script>`,
	`]]><script>window.pwned=1</script>`, `<ScRiPt>window.pwned=1</sCrIpT>`, `<script/x>window.pwned=1</script>`, `<script src=data:,window.pwned=1></script>`, `<script src=//127.0.0.1:9/x.js></script>`,
	`<img src=x onerror=window.pwned=1>`, `"><img src=x onerror=window.pwned=1>`, `'><img src=x onerror='window.pwned=1'>`, `<img src=x onerror=window.pwned=1//`, `<img/src/onerror=window.pwned=1>`,
	`<svg onload=window.pwned=1>`, `<svg><script>window.pwned=1</script></svg>`, `<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>`, `<svg><set onbegin=window.pwned=1 attributeName=x>`,
	`<svg><a xlink:href="javascript:window.pwned=1"><text y=20>x</text></a>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>`, `<math href="javascript:window.pwned=1">x</math>`,
	`<body onload=window.pwned=1>`, `<body onpageshow=window.pwned=1>`, `<html onmouseover=window.pwned=1>`, `<iframe src="javascript:parent.pwned=1"></iframe>`, `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
	`<object data="javascript:window.pwned=1"></object>`, `<embed src="javascript:window.pwned=1">`, `<base href="//127.0.0.1:9/">`, `<meta http-equiv=refresh content="0;url=javascript:window.pwned=1">`,
	`<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">`, `<link rel=stylesheet href=//127.0.0.1:9/x.css>`, `<link rel=import href=//127.0.0.1:9/x>`,
	`<style>@import url(//127.0.0.1:9/x.css);</style>`, `<style>body{--pwned:1}</style>`, `<div style="background:url(//127.0.0.1:9/x)">`, `<form action="//127.0.0.1:9/"><button>x</button></form>`,
	`</form><form action="//127.0.0.1:9/">`, `<button formaction="javascript:window.pwned=1">x</button>`, `<input onfocus=window.pwned=1 autofocus>`, `" onfocus="window.pwned=1" autofocus="`,
	`' onfocus='window.pwned=1' autofocus='`, `x onfocus=window.pwned=1 autofocus=`, `" autofocus onfocus=window.pwned=1 x="`, `<select onfocus=window.pwned=1 autofocus>`, `<textarea onfocus=window.pwned=1 autofocus>`,
	`<details open ontoggle=window.pwned=1>`, `<video><source onerror=window.pwned=1>`, `<audio src onerror=window.pwned=1>`, `<video poster="javascript:window.pwned=1">`, `<marquee onstart=window.pwned=1>`,
	`<a href="javascript:window.pwned=1" id=x>x</a>`, `javascript:window.pwned=1`, `data:text/html,<script>window.pwned=1</script>`, `{{constructor.constructor('window.pwned=1')()}}`, `${window.pwned=1}`,
	`<%= window.pwned=1 %>`, `<template><script>window.pwned=1</script></template>`, `<noscript><p title="</noscript><img src=x onerror=window.pwned=1>">`, `<xss id=x tabindex=1 onfocus=window.pwned=1></xss>`,
	`<p onclick="window.pwned=1">x</p>`, `&lt;script&gt;window.pwned=1&lt;/script&gt;`, `&#60;script&#62;window.pwned=1&#60;/script&#62;`, `\u003cscript\u003ewindow.pwned=1\u003c/script\u003e`, `\"-window.pwned=1-\"`,
	`'-window.pwned=1-'`, "`-window.pwned=1-`", `<a name=forms></a><img name=documentElement>`, `<form id=form><input name=elements>`, `\x3cscript>window.pwned=1</script>`, `<!--><img src=x onerror=window.pwned=1>-->`,
}

// Skeleton is what a page is made of beside its texts: its elements in their order, each with the names of its
// attributes. Texts of strangers change nothing of it.
func Skeleton(page string) (string, error) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		var names []string
		for _, a := range n.Attr {
			names = append(names, a.Key)
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "%s %s\n", n.Data, strings.Join(names, " "))
	}
	return b.String(), nil
}

// Leads returns the addresses in a page that lead elsewhere than to its own site, or run something.
func Leads(page string) (list []string, err error) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return nil, err
	}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			value := strings.TrimSpace(strings.ToLower(a.Val))
			switch a.Key {
			case "href", "src", "action", "formaction", "data", "poster", "srcdoc", "xlink:href":
				if strings.HasPrefix(value, "//") || strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "data:") && value != "data:," || strings.Contains(value, "127.0.0.1:9") && strings.Contains(value, "://") {
					list = append(list, n.Data+" "+a.Key+"="+a.Val)
				}
			}
		}
	}
	return list, nil
}
