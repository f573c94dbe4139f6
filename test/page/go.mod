module github.com/sidecard/sidecard/test/page

go 1.26.7

require (
	github.com/chromedp/cdproto v0.160.1
	github.com/chromedp/chromedp v0.23.1
	github.com/sidecard/sidecard v0.0.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260214004413-d219187c3433 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
)

replace github.com/sidecard/sidecard => ../..
