package cruisetest

// Picky is a task whose agents are one script: a reviewer that wants a word in the plan, and a fixer that puts it
// there. The script can run twice, because an agent first looks at what is there.
const Picky = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `plan=docs/plans/2026-11-15-add-a-flag.md
save() { git add $plan; git diff --cached --quiet || git commit -qm "$1"; }
case "$CCO_ROLE" in
author)
	mkdir -p docs/plans
	echo "T1: add it" > $plan
	save "plan: add a flag" ;;
reviewer)
	touch nothing 2> /dev/null && exit 9
	if grep -q tested $plan; then
		echo '{"verdict":"APPROVED","findings":[]}'
	else
		echo '{"verdict":"NEEDS_CHANGES","findings":[{
			"path":"docs/plans/2026-11-15-add-a-flag.md","line":1,"severity":"major",
			"text":"say how it is tested by '"$CCO_DOMAIN"'"}]}'
	fi ;;
fixer)
	printf 'T1: add it\nT2: it is tested\n' > $plan
	save "plan: say how it is tested

$(for f in $CCO_FINDINGS; do echo "Cco-Finding: $f"; done)"
	echo "left lying about" > leftover.txt ;;
esac
` + "```\n"

// Careless is Picky with a fixer that commits a key, and makes its commits anew when it is asked a second time.
const Careless = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `plan=docs/plans/2026-11-15-add-a-flag.md
save() { git add -A; git diff --cached --quiet || git commit -qm "$1"; }
case "$CCO_ROLE" in
author)
	mkdir -p docs/plans .github/workflows
	echo "T1: add it" > $plan
	echo "on: push" > .github/workflows/ci.yml
	save "plan: add a flag" ;;
reviewer)
	if grep -q tested $plan; then
		echo '{"verdict":"APPROVED","findings":[]}'
	else
		echo '{"verdict":"NEEDS_CHANGES","findings":[{
			"path":"docs/plans/2026-11-15-add-a-flag.md","line":1,"severity":"major","text":"say how it is tested"}]}'
	fi ;;
fixer)
	if git log -1 --format=%s | grep -q careless; then
		git reset -q --hard HEAD~1
	else
		printf 'ghp%s\n' _hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO > key.txt
	fi
	printf 'T1: add it\nT2: it is tested\n' > $plan
	echo "#!/bin/sh" > run.sh
	chmod +x run.sh
	save "$(test -e key.txt && echo careless): say how it is tested

$(for f in $CCO_FINDINGS; do echo "Cco-Finding: $f"; done)" ;;
esac
` + "```\n"

// Through is a task for all phases: it is planned, built and checked.
const Through = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `case "$CCO_ROLE-$CCO_PHASE" in
author-planning)
	mkdir -p docs/plans
	echo "T1: add it" > docs/plans/2026-11-15-add-a-flag.md ;;
author-building)
	echo "T1 is done" > built.txt ;;
author-validating)
	grep done built.txt ;;
reviewer-*)
	echo '{"verdict":"APPROVED","findings":[]}' ;;
esac
` + "```\n"

// undecided begins a task whose reviewers leave the verdict to people; the fixer's part follows.
const undecided = "# Add a flag\n\n## Task 1: play the part\n\n```sh\n" + `plan=docs/plans/2026-11-15-add-a-flag.md
case "$CCO_ROLE" in
author)
	mkdir -p docs/plans
	echo "T1: add it" > $plan
	git add -A
	git diff --cached --quiet || git commit -qm "plan: add a flag" ;;
reviewer)
	echo '{"verdict":"SKIPPED","findings":[]}' ;;
fixer)
`

// Unsure is a task whose reviewers leave the verdict to people.
const Unsure = undecided + `	echo "round $CCO_ROUND" > round.txt ;;
esac
` + "```\n"

// Merging is a task whose fixer merges what others put into the target, and keeps both sides.
const Merging = undecided + `	for c in $(git cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname)' |
		sed -n 's/^commit //p'); do
		if git log -1 --format=%s $c | grep -q '^by others' && ! git merge-base --is-ancestor $c HEAD; then
			git merge --no-edit $c || { printf 'T1: add it\nT0: theirs\n' > $plan; git add -A; git commit -qm "merge main"; }
		fi
	done ;;
esac
` + "```\n"
