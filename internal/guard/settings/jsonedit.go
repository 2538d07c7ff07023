package settings

import "strings"

// put sets a member of the object that keys lead to, making the objects on the way; whatever else stands there stays.
func put(data []byte, raw string, keys ...string) ([]byte, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	n, depth := root, 0
	for ; depth < len(keys)-1; depth++ {
		next, ok := n.get(keys[depth])
		if !ok || next.kind != '{' {
			break
		}
		n = next
	}
	for i := len(keys) - 1; i > depth; i-- {
		raw = "{" + compact(keys[i]) + ": " + raw + "}"
	}
	if old, ok := n.get(keys[depth]); ok {
		return splice(data, old.start, old.end, raw), nil
	}
	return prepend(data, n, compact(keys[depth])+": "+raw), nil
}

// add puts an element first into the array that keys lead to, making it where there is none.
func add(data []byte, raw string, keys ...string) ([]byte, error) {
	root, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	if list, ok := root.at(keys...); ok && list.kind == '[' {
		return prepend(data, list, raw), nil
	}
	return put(data, "["+raw+"]", keys...)
}

// prepend writes an item as the first of an object or array, on a line of its own where the others have theirs.
func prepend(data []byte, n node, item string) []byte {
	first := n.end - 1
	switch {
	case len(n.members) > 0:
		first = n.members[0].start
	case len(n.elems) > 0:
		first = n.elems[0].start
	}
	gap := string(data[n.start+1 : first])
	if first == n.end-1 {
		return splice(data, n.start+1, n.start+1, item)
	}
	if i := strings.LastIndexByte(gap, '\n'); i >= 0 && strings.TrimSpace(gap[i:]) == "" {
		gap = gap[i:] // comments above the first item stay with it
	} else {
		gap = " "
	}
	if gap == " " {
		return splice(data, n.start+1, n.start+1, item+", ")
	}
	return splice(data, n.start+1, n.start+1, gap+item+",")
}

// drop removes the elements of an array that match.
func drop(data []byte, match func(node) bool, keys ...string) []byte {
	for {
		root, err := parseJSON(data)
		if err != nil {
			return data
		}
		list, ok := root.at(keys...)
		if !ok {
			return data
		}
		i := 0
		for i < len(list.elems) && !match(list.elems[i]) {
			i++
		}
		if i == len(list.elems) {
			return data
		}
		from, to := list.start+1, list.elems[i].end
		if i > 0 {
			from = list.elems[i-1].end
		} else if len(list.elems) > 1 {
			to = afterComma(data, to)
		}
		data = splice(data, from, to, "")
	}
}

// remove takes a member out of the top object.
func remove(data []byte, key string) []byte {
	root, err := parseJSON(data)
	if err != nil {
		return data
	}
	for i, m := range root.members {
		if m.key != key {
			continue
		}
		from, to := root.start+1, m.value.end
		if i > 0 {
			from = root.members[i-1].value.end
		} else if len(root.members) > 1 {
			to = afterComma(data, to)
		}
		return splice(data, from, to, "")
	}
	return data
}

func afterComma(data []byte, at int) int {
	p := &jsonParser{text: string(data), pos: at}
	if p.space() == nil && p.pos < len(data) && data[p.pos] == ',' {
		return p.pos + 1
	}
	return at
}

func splice(data []byte, from, to int, with string) []byte {
	return []byte(string(data[:from]) + with + string(data[to:]))
}
