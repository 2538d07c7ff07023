// Markdown that an agent or a stranger wrote, as a small tree of known parts, and how that is drawn: every text of it
// is set as a text. HTML in it is text, a link shows its target, an image is its address. It knows what agents write:
// headings, lists, quotes, code, simple tables, emphasis and links. Else it is shown as it is written.
import {h} from 'preact';
import {useMemo} from 'preact/hooks';

// What reading may cost: the parts and the time that there are at once, and how much more of them each second. Texts
// beyond that are shown as they are, as long ones are.
const most = {parts: 30000, ms: 300, text: 65536, depth: 24};
const more = {parts: 1000, ms: 10};
const left = {...most, at: 0};
let parts = 0;
let end = 0;
const over = () => parts < 0 || performance.now() > end;

// refill gives what may be spent what has come since it was last asked for.
export function refill(of, most, more) {
  const now = performance.now();
  for (const k in more) of[k] = Math.min(most[k], of[k] + (more[k] * (now - of.at)) / 1000);
  of.at = now;
  return now;
}

export function parse(text, of = left) {
  const begun = refill(of, most, more);
  if (!/[\n`*[]/.test(text) && !begins(text)) return [{kind: 'p', parts: [{text}]}]; // a plain line costs nothing
  if (text.length > most.text || of.parts < 0 || of.ms < 0) return [{kind: 'pre', text}];
  [parts, end] = [of.parts, begun + of.ms];
  const all = blocks(text.replaceAll('\r\n', '\n').split('\n'), 0);
  const whole = !over();
  of.parts = parts;
  of.ms -= performance.now() - begun;
  return whole ? all : [{kind: 'pre', text}];
}

// Each takes a text once, whatever stands there: no expression here looks for an end again and again.
const item = line => /^([-*+]|\d{1,9}[.)])(?:[ \t]+|$)/.exec(line)?.[0] || '';
const isRule = line => /^(-{3,}|\*{3,}|_{3,})$/.test(line.replace(/[ \t]+/g, ''));
function fenceOf(line) {
  const mark = /^(`{3,}|~{3,})/.exec(line)?.[0];
  const rest = mark && line.slice(mark.length);
  return mark && !rest.includes('`') ? {mark, lang: rest.trim().split(/[ \t]/)[0]} : null;
}
const isTable = (line, under) =>
  line.includes('|') && under?.includes('|') && cells(under).every(c => /^:?-+:?$/.test(c));
function cells(line) {
  let [from, to] = [0, line.length];
  while (from < to && '| \t'.includes(line[from])) from++;
  while (to > from && '| \t'.includes(line[to - 1])) to--;
  return line
    .slice(from, to)
    .split('|')
    .map(c => c.trim());
}

// begins is what reads the block that a line begins; none if it is a part of a paragraph. It gives the block, and where
// the next one begins.
function begins(line) {
  const rest = line.trimStart();
  if (!/^[`~#\-*_+>\d]/.test(rest)) return null;
  if (fenceOf(rest)) return fence;
  if (/^#{1,6}(?:[ \t]|$)/.test(rest)) return heading;
  if (isRule(rest)) return (lines, at) => [{kind: 'hr'}, at + 1];
  if (item(rest)) return list;
  return rest[0] === '>' ? quote : null;
}
const blank = line => !line.trim();

function blocks(lines, depth) {
  const all = [];
  for (let at = 0; at < lines.length && !over(); ) {
    if (blank(lines[at])) {
      at++;
      continue;
    }
    const known = depth < most.depth && begins(lines[at]);
    const read = known || (isTable(lines[at], lines[at + 1]) ? table : paragraph);
    const [node, next] = read(lines, at, depth);
    parts--;
    all.push(node);
    at = next;
  }
  return all;
}

// indent is how far a line is set in; out sets it out by so many columns, or by as many as it is set in.
const indent = line =>
  [...line.slice(0, line.length - line.trimStart().length)].reduce((n, c) => n + (c === '\t' ? 4 : 1), 0);
const out = (line, by) => {
  const cols = by && indent(line);
  return cols ? ' '.repeat(Math.max(0, cols - by)) + line.trimStart() : line;
};

function fence(lines, at) {
  const {mark, lang} = fenceOf(lines[at].trimStart());
  const cols = indent(lines[at]);
  let text = '';
  let n = at + 1;
  for (; n < lines.length; n++) {
    const last = lines[n].trim();
    if (last.length >= mark.length && last === mark[0].repeat(last.length)) {
      n++;
      break;
    }
    text += out(lines[n], cols) + '\n';
  }
  return [{kind: 'pre', text, ...(lang && {lang})}, n];
}

function heading(lines, at) {
  const [, mark, rest] = /^(#{1,6})([^]*)$/.exec(lines[at].trim());
  let to = rest.length;
  while (rest[to - 1] === '#') to--;
  const text = to === 0 || ' \t'.includes(rest[to - 1]) ? rest.slice(0, to) : rest;
  return [{kind: 'h', level: mark.length, parts: inline(text.trim())}, at + 1];
}

function quote(lines, at, depth) {
  const within = [];
  for (let rest; (rest = lines[at]?.trimStart())?.[0] === '>'; at++) within.push(rest.slice(rest[1] === ' ' ? 2 : 1));
  return [{kind: 'quote', parts: blocks(within, depth + 1)}, at];
}

// list has items that begin alike. What is set in below one belongs to it, and so does the rest of its paragraph.
function list(lines, first, depth) {
  const ordered = mark => /^\d/.test(mark);
  const numbers = ordered(item(lines[first].trimStart()));
  const all = [];
  let [n, at, width] = [first, 0, 0];
  for (; n < lines.length; n++) {
    const line = lines[n];
    const rest = line.trimStart();
    if (!rest) {
      if (n + 1 === lines.length || blank(lines[n + 1])) break;
      all.at(-1).push(''); // whether it goes on is for the next line to say
      continue;
    }
    const mark = item(rest);
    const by = indent(line);
    if (n > first && by >= at + 2) all.at(-1).push(out(line, width));
    else if (mark && ordered(mark) === numbers && !isRule(rest)) {
      [at, width] = [by, by + Math.max(2, mark.length)];
      all.push([rest.slice(mark.length)]);
    } else if (!begins(line) && !blank(lines[n - 1])) all.at(-1).push(rest);
    else break;
  }
  const items = all.map(lines => {
    const within = blocks(lines, depth + 2);
    parts--;
    return {kind: 'li', parts: within[0]?.kind === 'p' ? [...within[0].parts, ...within.slice(1)] : within};
  });
  return [{kind: numbers ? 'ol' : 'ul', parts: items}, n];
}

// table has rows as they are written. None is filled up: a few bytes would become millions of cells.
function table(lines, at) {
  const rows = [];
  let n = at;
  for (; n < lines.length && lines[n].includes('|') && !over(); n++) {
    if (n === at + 1) continue;
    const row = cells(lines[n]).map(c => ({kind: n > at ? 'td' : 'th', parts: inline(c)}));
    parts -= row.length;
    rows.push({kind: 'tr', parts: row});
  }
  return [{kind: 'table', parts: rows}, n];
}

function paragraph(lines, at) {
  let n = at + 1;
  while (n < lines.length && !blank(lines[n]) && !begins(lines[n])) n++;
  return [{kind: 'p', parts: inline(lines.slice(at, n).join('\n').trim())}, n];
}

// marks are code, strong, emphasis, and links and images. Between two marks of a kind there is none of it, so that a
// search for an end never passes the next beginning. Of a link, all that is in its parentheses is shown.
const marks = new RegExp(
  '(?<!`)`+([^`]+)`+' +
    '|\\*\\*([^*\\s](?:[^*]*[^*\\s])?)\\*\\*' +
    '|\\*([^*\\s`](?:[^*`]*[^*\\s`])?)\\*' +
    '|(!?)\\[([^\\[\\]]*)\\]\\(([^()\\n]+)\\)',
  'g',
);
function inline(text) {
  const all = [];
  const add = (text, kind, within) => {
    parts--;
    if (kind) all.push(within ? {kind, parts: within} : {kind, text});
    else if (text) all.push({text});
  };
  let at = 0;
  for (const m of text.matchAll(marks)) {
    if (over()) break;
    add(text.slice(at, m.index));
    at = m.index + m[0].length;
    const [, code, strong, em, image, name, to] = m;
    if (code !== undefined) add(code, 'code');
    else if (strong !== undefined) add('', 'strong', inline(strong));
    else if (em !== undefined) add('', 'em', inline(em));
    else if (image) add(name + ' [' + to + ']');
    else {
      all.push(...inline(name));
      add(' (' + to + ')');
    }
  }
  add(text.slice(at));
  return all;
}

// Words draws Markdown, or the first blocks of it.
export function Words({of, first}) {
  const all = useMemo(() => parse(of || ''), [of]);
  return draw(first ? all.slice(0, first) : all);
}
const tags = {quote: 'blockquote', h: 'p'};
const draw = all =>
  all.map((n, key) => {
    if (!n.kind) return n.text;
    if (n.kind === 'hr') return h('hr', {key});
    if (n.kind === 'pre') return h('pre', {key, tabIndex: 0}, n.text);
    const within = n.text || draw(n.parts);
    if (n.kind === 'table')
      return h('div', {key, class: 'wide', tabIndex: 0}, h('table', null, h('tbody', null, within)));
    return h(tags[n.kind] || n.kind, {key, class: n.kind === 'h' ? 'heading' : undefined}, within);
  });

// flat is what Markdown says, as one line; heads are its headings, and choices the items of its lists.
const plain = all => all.map(n => n.text || plain(n.parts || [])).join(' ').trim();
export const flat = text => plain(parse((text || '').slice(0, 400)));
export const heads = text => parse(text || '').filter(n => n.kind === 'h').map(n => plain(n.parts));
export const choices = text =>
  parse(text || '')
    .filter(n => n.kind === 'ul' || n.kind === 'ol')
    .flatMap(n => n.parts)
    .map(li => plain(li.parts))
    .filter(Boolean);
