package wire

import (
	"bytes"
	"container/list"
	"io"
	"net/http"
	"sync"
)

// Bounds on the answers that are kept for conditional requests.
const (
	cacheBytes = 4 << 20
	entryBytes = 1 << 20
)

// cache keeps answers with their ETags. It drops the least recently used one.
type cache struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order list.List
	bytes int
}

type entry struct {
	key    string
	etag   string
	header http.Header
	data   []byte
}

func cacheKey(r *http.Request) string { return r.URL.String() + "\x00" + r.Header.Get("Accept") }

func cacheable(r *http.Request) bool { return r.Method == http.MethodGet }

// prepare makes a read conditional if its answer is known.
func (c *cache) prepare(r *http.Request) *entry {
	if !cacheable(r) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.byKey[cacheKey(r)]
	if !ok {
		return nil
	}
	c.order.MoveToFront(el)
	e := el.Value.(*entry)
	r.Header.Set("If-None-Match", e.etag)
	return e
}

// keep remembers an answer.
func (c *cache) keep(r *http.Request, resp *http.Response, data []byte) {
	etag := resp.Header.Get("ETag")
	if !cacheable(r) || resp.StatusCode != http.StatusOK || etag == "" || len(data) > entryBytes {
		return
	}
	key := cacheKey(r)
	c.mu.Lock()
	defer c.mu.Unlock()
	if el, known := c.byKey[key]; known {
		c.drop(el)
	}
	if c.byKey == nil {
		c.byKey = map[string]*list.Element{}
	}
	e := &entry{key: key, etag: etag, header: resp.Header.Clone(), data: data}
	c.byKey[key] = c.order.PushFront(e)
	for c.bytes += len(data); c.bytes > cacheBytes; {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(el *list.Element) {
	e := c.order.Remove(el).(*entry)
	delete(c.byKey, e.key)
	c.bytes -= len(e.data)
}

// answer is the kept answer, with what the forge says about limits now.
func (e *entry) answer(confirmed *http.Response) *http.Response {
	r := *confirmed
	r.StatusCode, r.Status = http.StatusOK, "200 OK"
	r.Header = e.header.Clone()
	for k, v := range confirmed.Header {
		if k != "Content-Length" && k != "Content-Type" && k != "Link" {
			r.Header[k] = v
		}
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(e.data)), int64(len(e.data))
	return &r
}
