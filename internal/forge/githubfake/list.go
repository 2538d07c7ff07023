package githubfake

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// list answers with a page of a list.
func list[T any](c *call, all []T, show func(T) object) answer {
	size, no := number(c.r.URL.Query(), "per_page", 30), number(c.r.URL.Query(), "page", 1)
	size = min(size, 100)
	last := max(1, (len(all)+size-1)/size)
	if len(all) > size {
		link := func(n int, rel string) string {
			u := *c.r.URL
			q := u.Query()
			q.Set("page", strconv.Itoa(n))
			u.RawQuery = q.Encode()
			return fmt.Sprintf(`<%s%s>; rel="%s"`, c.base, u.RequestURI(), rel)
		}
		var links []string
		if no < last {
			links = append(links, link(no+1, "next"), link(last, "last"))
		}
		if no > 1 {
			links = append(links, link(1, "first"), link(no-1, "prev"))
		}
		c.header.Set("Link", strings.Join(links, ", "))
	}
	page := []any{}
	for i := (no - 1) * size; i < min(no*size, len(all)); i++ {
		page = append(page, show(all[i]))
	}
	return answer{http.StatusOK, page}
}

func number(q url.Values, name string, other int) int {
	if n, err := strconv.Atoi(q.Get(name)); err == nil && n > 0 {
		return n
	}
	return other
}
