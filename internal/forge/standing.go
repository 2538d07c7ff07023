package forge

// Standing finds a request's current verdicts: each account's last approval, and its requests for changes since. A
// request for changes is over when that account approves, when anybody dismisses it, or when that account resolves all
// of its threads; if somebody else resolves them, that says nothing about its opinion.
func Standing(all []Comment) []Comment {
	resolved := map[string]string{} // who resolved each thread, by its first comment
	threads := map[string][]string{}
	for _, c := range all {
		if c.Kind != OnLine {
			continue
		}
		if c.State == ThreadResolved {
			resolved[c.Thread] = c.Resolver
		}
		threads[c.Review] = append(threads[c.Review], c.Thread)
	}
	over := func(c Comment) bool {
		for _, t := range threads[c.ID] {
			if resolved[t] == "" || resolved[t] != c.Author {
				return false
			}
		}
		return len(threads[c.ID]) > 0
	}
	var order []string
	stand := map[string][]Comment{}
	for _, c := range sortedCopy(all) {
		if c.Kind != InReview {
			continue
		}
		if _, known := stand[c.Author]; !known {
			order = append(order, c.Author)
			stand[c.Author] = nil
		}
		switch {
		case c.State == ReviewApproved:
			stand[c.Author] = []Comment{c}
		case c.State == ReviewChanges && !over(c):
			stand[c.Author] = append(stand[c.Author], c)
		}
	}
	var list []Comment
	for _, who := range order {
		list = append(list, stand[who]...)
	}
	return list
}

func sortedCopy(all []Comment) []Comment {
	list := append([]Comment(nil), all...)
	sortByTime(list)
	return list
}
