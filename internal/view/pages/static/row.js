// The rows of the inbox. There are hundreds: one is copied from a blank and filled in, and only what changes is written
// again. What acts in it is drawn by the page.
import {render} from 'preact';
import {html, effect, useEffect, useLayoutEffect, useRef, Act, make, signs, hue, dangers} from '/assets/lib.js';
import {base, brief, cents, count, exact, none, now} from '/assets/lib.js';
import {clean, apiOf} from '/assets/need.js';

const path = document.createElementNS('http://www.w3.org/2000/svg', 'path'),
  svg = document.createElementNS(path.namespaceURI, 'svg'),
  box = make('input');
svg.setAttribute('viewBox', '0 0 16 16');
svg.setAttribute('role', 'img');
svg.append(path);
box.type = 'checkbox';
const blank = make(
  'li',
  'row',
  box,
  svg,
  make('span', 't', make('a', 'cut', ''), make('span', 'sub')),
  make('span', 'meta', make('span', 'cut', ''), make('time', 'n', '')),
);
blank.querySelector('a').dir = 'auto';
// What a row has only sometimes: each is made when there is something to say in it.
const blanks = {
  last: make('span', 'm last', make('span', 'cut', '')),
  agent: make('span', 'cut agent', ''),
  size: make('span', 'n size', make('span', 'dk', ''), make('span', 'ok', ''), ' ', make('span', 'del', '')),
  cost: make('span', 'n cost', ''),
  way: make('span', 'do', make('a', 'btn', '')),
};
blanks.last.firstChild.dir = 'auto';

function copy() {
  const li = blank.cloneNode(true),
    [box, svg, t, meta] = li.children,
    [title, sub] = t.children,
    [repo, time] = meta.children;
  return {li, box, svg, title, sub, meta, repo, time, was: {}};
}

// some gives a part of a row that has it, and takes it away from one that has not.
function some(p, name, has, into, before) {
  if (has && !p[name]) into.insertBefore((p[name] = blanks[name].cloneNode(true)), before || null);
  if (!has && p[name]) {
    p[name].remove();
    p[name] = null;
  }
  return p[name];
}
// say writes a text, if it is another; put an attribute.
const say = (e, words) => {
  if (e.firstChild.data !== words) e.firstChild.data = words;
};
const put = ({was}, e, name, value) => {
  if (was[name] !== value) e.setAttribute(name, (was[name] = value));
};

// Ages are told anew each second, by one for all.
const shown = new Set();
const age = p => say(p.time, none(p.was.datetime) ? '' : brief(now.value - new Date(p.was.datetime)));
effect(() => {
  if (now.value) shown.forEach(age);
});

// chips are what stands between a title and what is said of it.
const chips = r => [
  ...(r.n?.held || []).slice(0, 2).map(g => [dangers[g.danger] || '', g.count + ' ' + g.danger]),
  ...(r.more?.length ? [['', count(r.more.length, 'comment')]] : []),
];
// acts is what a row does by itself; way is where its button leads otherwise, and how that looks.
const acts = r =>
  r.id === 'engine' ? html`
    <${Act} path="/phases/watch">Start</${Act}>
  ` : clean(r.n || {}) && html`
    <${Act} path=${apiOf(r.n) + '/pull'} seen=${r.n.work}>Take</${Act}>
  `;
const way = r =>
  ['Review', 'Take'].includes(r.does)
    ? ['Review', '/session/' + r.id + '/changes', 'btn']
    : [r.does, r.to, r.does === 'Open' ? 'btn q' : 'btn'];

function fill(p, r, n, on, marked) {
  const {li, meta} = p,
    z = r.size,
    act = acts(r),
    c =
      'row' +
      (on ? ' on' : '') +
      (r.group === 'done' ? ' old' : '') +
      (r.group === 'asks' && r.note ? ' says' : '');
  put(p, li, 'data-id', r.id);
  put(p, li, 'class', c);
  put(p, li, 'aria-current', String(on));
  if (p.n !== n) li.style.setProperty('--n', (p.n = n));
  if (p.box.checked !== marked) p.box.checked = marked;
  put(p, p.box, 'aria-label', 'Choose: ' + r.title);
  if (p.icon !== r.icon + r.c + r.says) {
    p.icon = r.icon + r.c + r.says;
    p.svg.setAttribute('class', 'i ' + r.c);
    p.svg.setAttribute('aria-label', r.says);
    p.svg.firstChild.setAttribute('d', signs[r.icon]);
  }
  say(p.title, r.title);
  put(p, p.title, 'href', r.to);
  const marks = chips(r);
  if ((p.marks || '') !== marks.join()) {
    p.sub.querySelectorAll('.chip').forEach(e => e.remove());
    p.sub.prepend(...marks.map(([c, says]) => make('span', 'chip ' + c, says)));
    p.marks = marks.join();
  }
  if (some(p, 'last', r.note, p.sub)) say(p.last.firstChild, r.note);
  say(p.repo, base(r.repo) + (r.branch ? ' · ' + r.branch : ''));
  put(p, p.repo, 'title', r.repo || '');
  if (some(p, 'cost', r.cost?.cost > 0, meta, p.time)) say(p.cost, cents(r.cost.cost));
  if (some(p, 'size', z, meta, p.cost || p.time)) {
    const [files, added, , deleted] = p.size.childNodes;
    say(files, count(z.files, 'file') + ' ');
    say(added, z.added ? '+' + z.added : '');
    say(deleted, z.deleted ? '−' + z.deleted : '');
  }
  if (some(p, 'agent', r.agent, meta, p.size || p.cost || p.time)) {
    say(p.agent, r.agent);
    p.agent.className = 'cut agent dk ' + hue(r.agent);
  }
  put(p, p.time, 'datetime', r.at || '');
  age(p);
  if (act || p.acts) {
    if (!p.acts) li.append((p.acts = make('span', 'do')));
    render(act || null, p.acts);
    if (!act) p.acts = p.acts.remove();
  }
  if (some(p, 'way', r.does && !act, li)) {
    const [says, to, looks] = way(r),
      a = p.way.firstChild;
    say(a, says);
    if (p.to !== to) a.href = p.to = to;
    a.className = looks;
  }
}

function end(p) {
  shown.delete(p);
  if (p.acts) render(null, p.acts);
  p.li.remove();
}

// Rows draws a list of them in its order.
export function Rows({list, on, marked, pick, mark, open}) {
  const el = useRef(null),
    kept = useRef(new Map());
  useLayoutEffect(() => {
    const was = kept.current,
      all = (kept.current = new Map()),
      fresh = document.createDocumentFragment();
    list.forEach((r, n) => {
      const p = was.get(r.key) || copy();
      was.delete(r.key);
      all.set(r.key, p);
      shown.add(p);
      fill(p, r, n, r.key === on, marked.includes(r.key));
    });
    was.forEach(end);
    for (const {li} of all.values()) if (!li.parentNode) fresh.append(li);
    el.current.append(fresh);
    let next = el.current.firstChild;
    for (const {li} of all.values())
      if (li === next) next = next.nextSibling;
      else el.current.insertBefore(li, next);
  });
  useEffect(() => () => kept.current.forEach(end), []);
  const of = e => {
    const li = e.target.closest('.row');
    return list.find(r => kept.current.get(r.key)?.li === li);
  };
  return html`
    <ul
      ref=${el}
      onChange=${e => mark(of(e).key)}
      onMouseOver=${e => {
        if (e.target.dateTime && !e.target.title) e.target.title = exact(e.target.dateTime);
      }}
      onClick=${e => {
        const r = of(e);
        if (!r) return;
        const [, to, looks] = way(r);
        if (e.target.closest('.do a')) {
          if (to === r.to && looks === 'btn') open(e, r.key);
        } else if (!e.target.closest('a, button, input, dialog')) pick(r.key);
      }}></ul>
  `;
}
