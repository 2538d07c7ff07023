package view

import (
	"strings"

	"rsc.io/qr"
)

// QR draws a text for a camera, in half blocks: light on dark as most terminals are, with the quiet zone around it.
func QR(text string) (string, error) {
	c, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const quiet = 2
	light := func(x, y int) int {
		if c.Black(x, y) {
			return 0
		}
		return 1
	}
	var b strings.Builder
	for y := -quiet; y < c.Size+quiet; y += 2 {
		for x := -quiet; x < c.Size+quiet; x++ {
			b.WriteString([]string{" ", "▄", "▀", "█"}[2*light(x, y)+light(x, y+1)])
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
