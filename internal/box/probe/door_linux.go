package probe

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/socket"
)

// patience is how long to wait for an answer. Only a request without an answer or a refusal takes that long.
const patience = 20 * time.Second

func dialer() *net.Dialer { return &net.Dialer{Timeout: patience} }

// caller makes requests to one door.
type caller struct {
	network, address string
	token            string
}

func (c caller) dial() (net.Conn, error) {
	if c.network == "unix" {
		return socket.Dial(context.Background(), c.address)
	}
	return dialer().DialContext(context.Background(), c.network, c.address)
}

func (b *Bait) caller() caller { return caller{"tcp", os.Getenv(DoorVariable), b.Behind.Token} }

func basic(token string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("cco:"+token)) + "\r\n"
}

// ask sends a request, then the data for the tunnel if there is one, and returns the status and the rest of the answer.
func (c caller) ask(request string, through []byte) (status int, rest string) {
	conn, err := c.dial()
	if err != nil {
		return 0, ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, ""
	}
	r := bufio.NewReader(conn)
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, ""
	}
	if words := strings.Fields(line); len(words) > 1 {
		status, _ = strconv.Atoi(words[1])
	}
	if status == 200 && through != nil {
		for line != "\r\n" { // the headers before the tunnel
			if line, err = r.ReadString('\n'); err != nil {
				return status, ""
			}
		}
		if _, err := conn.Write(through); err != nil {
			return status, ""
		}
	}
	if status != 200 || through == nil && strings.HasPrefix(request, "CONNECT") {
		return status, ""
	}
	text := make([]byte, 64<<10)
	n := 0
	for n < len(text) && !strings.Contains(string(text[:n]), Answer) {
		m, err := r.Read(text[n:])
		if n += m; err != nil {
			break
		}
	}
	return status, string(text[:n])
}

// tunnel says whether the door allows CONNECT.
func (c caller) tunnel(target string) bool {
	status, _ := c.ask("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n"+basic(c.token)+"\r\n", nil)
	return status == 200
}

// get requests a page by its whole URL.
func (c caller) get(url, host string) string {
	status, rest := c.ask("GET "+url+" HTTP/1.1\r\nHost: "+host+"\r\n"+basic(c.token)+"Connection: close\r\n\r\n", nil)
	if status == 200 && strings.Contains(rest, Answer) {
		return rest
	}
	return ""
}

// doorControl must get through. If it doesn't, the results of the other probes mean nothing.
func doorControl(b *Bait) string {
	c, name := b.caller(), b.Behind.Allowed
	_, tls := c.ask("CONNECT "+name+":443 HTTP/1.1\r\nHost: "+name+":443\r\n"+basic(c.token)+"\r\n", b.Behind.Hello)
	if strings.Contains(tls, Answer) && c.get("http://"+name+"/", name) != "" && c.tunnel(strings.ToUpper(name)+".:443") {
		return "the allowed host was reached"
	}
	return ""
}

func doorNames(b *Bait) string {
	c, allowed, other := b.caller(), b.Behind.Allowed, b.Behind.Other
	for _, target := range []string{
		other + ":443", other + ":80", strings.ToUpper(other) + ".:443", "sub." + allowed + ":443", allowed + "." + other +
			":443", "x" + allowed + ":443",
		allowed + ":22", allowed + ":25", allowed + ":8443", allowed + ":65979", allowed + "@" + other + ":443", other + "#" +
			allowed + ":443",
		other + "/" + allowed + ":443", allowed + "\x00." + other + ":443", allowed + "%00." + other + ":443",
		allowed + "\t" + other + ":443", "*:443",
		other + "?" + allowed + ":443", other + "\\" + allowed + ":443", "." + other + ":443", other + "..:443",
	} {
		if c.tunnel(target) {
			return fmt.Sprintf("%q was let through", target)
		}
	}
	for _, url := range []string{
		"http://" + other + "/", "http://" + allowed + ":8080/", "http://" + allowed + "@" + other + "/", "http://" + other +
			"#@" + allowed + "/",
		"http://" + other + "\\@" + allowed + "/", "http:/\\" + other + "/", "HTTP://" + strings.ToUpper(other) + "/",
		"https://" + other + "/", "ftp://" + allowed + "/",
	} {
		for _, host := range []string{other, allowed} {
			if page := c.get(url, host); page != "" && !strings.Contains(page, Answer+" "+allowed) {
				return fmt.Sprintf("%q was let through", url)
			}
		}
	}
	return ""
}

func doorNotation(b *Bait) string {
	c := b.caller()
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "0.0.0.0",
		"127.0.0.1.", "127.000.000.001",
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
		"[2002:7f00:1::]", "[fe80::1%25lo]", "[fe80::1%lo]",
		"localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "１２７.０.０.１",
		"①②⑦.⓪.⓪.①", "127。0。0。1",
		"169.254.169.254", "2852039166", "0xa9fea9fe", "[fd00:ec2::254]", "metadata.google.internal", "10.0.0.1",
		"192.168.1.1", "172.16.0.1", "100.64.0.1", "[fc00::1]", "[fec0::1]",
		"255.255.255.255", "224.0.0.1", "20.30.40.50", "0x141e2832", "336472114", "[::ffff:20.30.40.50]",
	} {
		for _, port := range []int{80, 443, b.Port} {
			target := host + ":" + strconv.Itoa(port)
			if c.tunnel(target) {
				return target + " was let through"
			}
			if c.get("http://"+target+"/cco", target) != "" { // by this path the host recognises a probe
				return "http://" + target + " was let through"
			}
		}
	}
	return ""
}

func doorRebinding(b *Bait) string {
	c := b.caller()
	for _, name := range b.Behind.Inside {
		for range 4 { // some names change between lookups; the host sees the result of those
			if c.tunnel(name+":443") && !strings.HasPrefix(name, "flip") {
				return name + " was let through"
			}
			if c.get("http://"+name+"/", name) != "" && !strings.HasPrefix(name, "flip") {
				return "http://" + name + " was let through"
			}
		}
	}
	return ""
}

func doorSNI(b *Bait) string {
	c, allowed, other := b.caller(), b.Behind.Allowed, b.Behind.Other
	plain := []byte("GET / HTTP/1.1\r\nHost: " + other + "\r\nConnection: close\r\n\r\n")
	for _, try := range []struct {
		what, port string
		say        []byte
	}{
		{"TLS", "443", b.Behind.Foreign}, {"TLS on port 80", "80", b.Behind.Foreign}, {"HTTP", "80", plain},
		{"HTTP on port 443", "443", plain},
		{"CONNECT", "80", []byte("CONNECT " + other + ":443 HTTP/1.1\r\nHost: " + other + ":443\r\n\r\n")},
		{"something that is not TLS", "443", []byte("SSH-2.0-probe\r\n")},
		{"HTTP in HTTP", "80", []byte("GET http://" + other + "/ HTTP/1.1\r\nHost: " + allowed +
			"\r\nConnection: close\r\n\r\n")},
	} {
		target := allowed + ":" + try.port
		_, rest := c.ask("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n"+basic(c.token)+"\r\n", try.say)
		if strings.Contains(rest, Answer) && !strings.Contains(rest, Answer+" "+allowed) {
			return try.what + " was let through"
		}
	}
	return ""
}

func doorHost(b *Bait) string {
	c, allowed, other := b.caller(), b.Behind.Allowed, b.Behind.Other
	for _, hosts := range []string{other, allowed + "\r\nHost: " + other, other + "\r\nHost: " + allowed,
		allowed + "\r\nhost : " + other, allowed + "\r\n Host: " + other, allowed + "," + other} {
		if page := c.get("http://"+allowed+"/", hosts); page != "" && !strings.Contains(page, Answer+" "+allowed+"\n") {
			return fmt.Sprintf("the other host answered to %q", hosts)
		}
	}
	return ""
}

func doorToken(b *Bait) string {
	c, name := b.caller(), b.Behind.Allowed
	for _, token := range b.Behind.Wrong {
		c.token = token
		if c.tunnel(name+":443") || c.get("http://"+name+"/", name) != "" {
			return fmt.Sprintf("the token %q was good enough", token)
		}
		for _, header := range []string{"x-api-key: " + token, "Authorization: Bearer " + token, "x-goog-api-key: " + token} {
			if status, _ := c.ask("GET /anthropic/v1/models HTTP/1.1\r\nHost: door\r\n"+header+"\r\nConnection: close\r\n\r\n",
				nil); status == 200 {
				return fmt.Sprintf("the model answered to the token %q", token)
			}
		}
	}
	for _, header := range []string{
		"", "Proxy-Authorization: Bearer " + b.Behind.Token + "\r\n", "Authorization: " +
			strings.TrimPrefix(basic(b.Behind.Token), "Proxy-Authorization: "),
		"Proxy-Authorization: Basic\r\n", "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("cco")) +
			"\r\n",
	} {
		if status, _ := c.ask("CONNECT "+name+":443 HTTP/1.1\r\nHost: "+name+":443\r\n"+header+"\r\n", nil); status == 200 {
			return fmt.Sprintf("%q was good enough", header)
		}
	}
	return ""
}

func doorOther(b *Bait) string {
	for _, path := range b.Behind.Doors {
		c := caller{"unix", path, b.Behind.Token}
		if c.tunnel(b.Behind.Allowed + ":443") {
			return path + " let us through"
		}
	}
	return ""
}

// doorRelay tells the host the relay's port, and gives it time to try.
func doorRelay(b *Bait) string {
	_, port, err := net.SplitHostPort(os.Getenv(DoorVariable))
	if err != nil {
		return "there is no relay"
	}
	if err := os.WriteFile(filepath.Join(b.Mine, RelayFile), []byte(port+"\n"),
		0o644); err != nil { // for the host
		return err.Error()
	}
	for range patience / (10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(b.Mine, TriedFile)); err == nil {
			return "" // the host sees the result
		}
		time.Sleep(10 * time.Millisecond)
	}
	return "the host did not try, so this shows nothing"
}

// dial says by its exit status whether a socket can be reached.
func dial(args []string) int {
	if len(args) != 1 {
		return 1
	}
	c, err := socket.Dial(context.Background(), args[0])
	if err != nil {
		return 1
	}
	_ = c.Close()
	return 0
}
