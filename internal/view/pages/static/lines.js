// The lines of a change, thousands of them: rows are copies of one, in tables of a hundred, which a browser lays out
// when they come into sight. All of the text is there from the beginning, to be found and read aloud.
import {html, make, useLayoutEffect, useRef} from '/assets/app.js';
import {languageOf, paint} from '/assets/colour.js';

const most = 100; // lines of a part
const kinds = {'+': 'add', '-': 'rm', ' ': ''};

// blank is a row to be copied: of a line that was added, removed or neither, with both numbers or one, or of two sides.
const blanks = {};
function blank(op, cells, says) {
  const cell = c => {
    const at = says && c !== 'c',
      td = make('td', c + (at ? ' at' : ''), '');
    if (at) td.tabIndex = -1;
    return td;
  };
  return (blanks[op + cells + says] ||= make('tr', kinds[op], ...cells.split(',').map(cell))).cloneNode(true);
}

// number writes a line's number; where there is none, nothing begins.
function number(td, n, c) {
  if (n) {
    td.firstChild.data = n;
    return;
  }
  td.className = c;
  td.removeAttribute('tabindex');
}

// many copies as many rows as there are lines of one kind at once, which is quicker than one after the other.
const bodies = {};
function many(rows, {says, only}) {
  const op = rows[0].op,
    whole = (bodies[op + says] ||= make('tbody', '', ...Array.from({length: most}, () => blank(op, 'l,c', says)))),
    body = whole.cloneNode(true);
  for (let n = rows.length; n < most; n++) body.lastChild.remove();
  let tr = body.firstChild;
  for (const l of rows) {
    tr.firstChild.firstChild.data = l[only];
    tr.lastChild.firstChild.data = l.text;
    tr = tr.nextSibling;
  }
  return body;
}

function unified(l, {says}) {
  const tr = blank(l.op, 'l old,l,c', says);
  number(tr.firstChild, l.old, 'l old');
  number(tr.firstChild.nextSibling, l.new, 'l');
  tr.lastChild.firstChild.data = l.text;
  return tr;
}

function split([a, b], {says}) {
  const tr = blank(' ', 'l,c,l,c', says),
    [old, was, now, is] = tr.children;
  const side = (l, k, op, at, code) => {
    number(at, l?.[k], 'l');
    if (!l) code.classList.add('none');
    else code.firstChild.data = l.text;
    if (l?.op === op) code.classList.add(kinds[op]);
  };
  side(a, 'old', '-', old, was);
  side(b, 'new', '+', now, is);
  return tr;
}

// enter is where Tab comes to: the first changed line of a part. From there on arrows go from line to line.
function enter(body, rows, entry) {
  const i = rows.findIndex(r => r === entry || (Array.isArray(r) && r.includes(entry))),
    at = i >= 0 && [...body.rows].at(i - rows.length).querySelectorAll('.at');
  if (at && at.length) at[entry.op === '-' ? 0 : at.length - 1].tabIndex = 0;
}

// Colours are laid over the text, and its nodes stay as they are: what somebody found or chose is not lost by them.
const layers = {};
if (self.Highlight)
  for (const kind of 'kscnf') CSS.highlights.set('c-' + kind, (layers[kind] = new Highlight()));
function colour(table, lang) {
  const ranges = [];
  if (!lang || !self.Highlight) return ranges;
  for (const td of table.querySelectorAll('tr:not(.hunk) .c:not(.none)')) {
    const text = td.firstChild;
    let at = 0;
    for (const [kind, piece] of paint(text.data, lang)) {
      const [startOffset, endOffset] = [at, (at += piece.length)];
      if (!kind) continue;
      const range = new StaticRange({startContainer: text, startOffset, endContainer: text, endOffset});
      layers[kind].add(range);
      ranges.push([kind, range]);
    }
  }
  return ranges;
}
// Those that come near are coloured.
const near = new IntersectionObserver(
  all => {
    for (const e of all)
      if (e.isIntersecting) {
        near.unobserve(e.target);
        e.target.come();
      }
  },
  {rootMargin: '400px'},
);

// step goes with an arrow key to the next line that can be commented on.
function step(at, by) {
  const rows = [...at.closest('section').querySelectorAll('.diff tr:has(.at)')],
    to = rows[rows.indexOf(at.parentNode) + by];
  if (to) [...to.querySelectorAll('.at')].at(-1).focus();
}

function Table({head, rows, both, only, lang, path, entry, say}) {
  const el = useRef(null),
    says = Boolean(say);
  useLayoutEffect(() => {
    const body = only && !both ? many(rows, {says, only}) : make('tbody', '');
    if (!body.firstChild) body.append(...rows.map(r => (both ? split : unified)(r, {says})));
    if (head) {
      const tr = blank(' ', both || only ? 'l,c' : 'l old,l,c', false);
      tr.className = 'hunk';
      tr.lastChild.firstChild.data = head;
      if (both) tr.lastChild.colSpan = 3;
      body.prepend(tr);
    }
    if (says) enter(body, rows, entry);
    el.current.replaceChildren(body);
    let ranges = [];
    const box = el.current.parentNode;
    box.come = () => {
      ranges = colour(body, lang);
    };
    near.observe(box);
    return () => {
      near.unobserve(box);
      for (const [kind, range] of ranges) layers[kind].delete(range);
    };
  }, [rows, both, says, head]);
  const on = e => {
    const twice = e.type === 'dblclick' && e.target.closest('tr')?.querySelector('.at'),
      at = e.target.closest('.at') || twice;
    if (!at) return;
    if (e.type !== 'keydown' || e.key === 'Enter') {
      e.preventDefault();
      const table = el.current,
        row = rows.at(at.parentNode.rowIndex - table.rows.length);
      say(both ? row[at.cellIndex ? 1 : 0] : row);
    } else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault();
      step(at, e.key === 'ArrowDown' ? 1 : -1);
    }
  };
  return html`
    <div class="lines0" style=${{'--lines': rows.length}}>
      <table
        class=${'diff' + (both ? ' both' : '')}
        role=${says ? 'grid' : undefined}
        aria-label=${'Lines of ' + path + (says ? '; enter comments on one' : '')}
        ref=${el}
        onClick=${on}
        onDblClick=${on}
        onKeyDown=${on}></table>
    </div>
  `;
}

function pairs(lines) {
  const out = [];
  let dels = [],
    adds = [];
  const flush = () => {
    for (let i = 0; i < Math.max(dels.length, adds.length); i++) out.push([dels[i], adds[i]]);
    dels = [];
    adds = [];
  };
  for (const l of lines) {
    if (l.op === '-') dels.push(l);
    else if (l.op === '+') adds.push(l);
    else {
      flush();
      out.push([l, l]);
    }
  }
  flush();
  return out;
}

const alike = (a, b) => a === b || (Array.isArray(a) && a[0] === b[0] && a[1] === b[1]);

// Lines shows a hunk. below gives what stands under a line, if anything does: a part ends there.
export function Lines({path, h, both, below, say}) {
  const kept = useRef({}),
    lang = languageOf(path),
    entry = h.lines.find(l => l.op !== ' '),
    only = h.lines.every(l => l.op === '+') ? 'new' : h.lines.every(l => l.op === '-') ? 'old' : '',
    shown = [];
  let part = [];
  const end = () => {
    if (part.length) shown.push({rows: part});
    part = [];
  };
  for (const row of both ? pairs(h.lines) : h.lines) {
    part.push(row);
    const under = [...new Set(both ? row : [row])].map(l => l && below(l)).filter(Boolean);
    if (under.length || part.length === most) end();
    if (under.length) shown.push({under});
  }
  end();
  // A part that has the same rows as before is not made again.
  const was = kept.current;
  kept.current = {};
  return shown.map((x, i) => {
    if (x.under) return html`<div class="under" key=${'u' + i}>${x.under}</div>`;
    const key = x.rows[0],
      of = both ? key[0] || key[1] : key,
      id = of.op + (of.old || 0) + '-' + (of.new || 0),
      old = was[id],
      same = old?.length === x.rows.length && old.every((r, k) => alike(r, x.rows[k]));
    const rows = (kept.current[id] = same ? old : x.rows);
    return html`
      <${Table}
        key=${id}
        head=${i || /^@@ -0,0 /.test(h.head) ? '' : h.head}
        rows=${rows}
        both=${both}
        only=${only}
        lang=${lang}
        path=${path}
        entry=${entry}
        say=${say}
      />
    `;
  });
}
