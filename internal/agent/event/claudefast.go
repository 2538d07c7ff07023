package event

import "encoding/json"

// quick reads the two kinds of lines that make up nearly all of a long run. It leaves the others to parse.
func (l *claudeLine) quick(line []byte) bool {
	var message []byte
	ok := object(line, func(key, value []byte) bool {
		switch string(key) {
		case "type":
			return text(value, &l.Type)
		case "session_id":
			return text(value, &l.Session)
		case "parent_tool_use_id":
			return text(value, &l.Parent)
		case "message":
			message = value
		}
		return true
	})
	if !ok || l.Type != "assistant" && l.Type != "user" {
		return false
	}
	l.Message = &claudeMessage{}
	return object(message, l.Message.field)
}

func (m *claudeMessage) field(key, value []byte) bool {
	switch string(key) {
	case "id":
		return text(value, &m.ID)
	case "usage":
		m.Usage = &claudeUsage{}
		return object(value, m.Usage.field)
	case "content":
		return array(value, func(value []byte) bool {
			m.Content = append(m.Content, claudeBlock{})
			return object(value, m.Content[len(m.Content)-1].field)
		})
	}
	return true
}

func (u *claudeUsage) field(key, value []byte) bool {
	switch string(key) {
	case "input_tokens":
		return number(value, &u.Input)
	case "output_tokens":
		return number(value, &u.Output)
	case "cache_creation_input_tokens":
		return number(value, &u.CacheWrite)
	case "cache_read_input_tokens":
		return number(value, &u.CacheRead)
	}
	return true
}

func (b *claudeBlock) field(key, value []byte) bool {
	switch string(key) {
	case "type":
		return text(value, &b.Type)
	case "text":
		return text(value, &b.Text)
	case "thinking":
		return text(value, &b.Thinking)
	case "id":
		return text(value, &b.ID)
	case "name":
		return text(value, &b.Name)
	case "tool_use_id":
		return text(value, &b.Call)
	case "is_error":
		return truth(value, &b.IsError)
	case "input":
		b.Input = append(json.RawMessage(nil), value...) // the line's memory is reused
		return json.Valid(value)
	case "content":
		var words string
		if text(value, &words) {
			b.Content = words
			return true
		}
		return json.Unmarshal(value, &b.Content) == nil
	}
	return true
}
