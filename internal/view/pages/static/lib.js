// What all pages share: asking the server, following it, and showing words of strangers as text.
import {h, Component, Fragment} from 'preact';
import {useEffect, useState} from 'preact/hooks';
import {signal} from '@preact/signals';
import htm from 'htm';

export const html = htm.bind(h);
export {signal, computed, effect} from '@preact/signals';
export {useState, useEffect, useRef, useCallback} from 'preact/hooks';

export const lost = signal(false);   // the server does not answer
export const told = signal([]);      // what the last press came to, and what else was said of it
export const state = signal(null);   // what the stream of states said last
export const now = signal(Date.now());
setInterval(() => { now.value = Date.now(); }, 1000);

export class Refused extends Error {
  constructor(said, status) { super(said.error || 'it is refused: ' + status); this.held = said.held || []; this.status = status; }
}

async function call(path, how) {
  let r;
  try { r = await fetch('/api/v1' + path, how); } catch (e) { lost.value = true; throw new Refused({error: 'cco does not answer'}, 0); }
  lost.value = false;
  const said = await r.json().catch(() => ({}));
  if (r.status === 401) location.reload();
  if (!r.ok) throw new Refused(said, r.status);
  return said;
}
export const ask = path => call(path);
export const act = (path, body = {}) =>
  call(path, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});

// stream follows events and comes back by itself. address says where to go on.
export function stream(address, handlers) {
  let es, timer, ended = false;
  const open = () => {
    es = new EventSource('/api/v1' + address());
    es.onopen = () => { lost.value = false; };
    for (const [name, f] of Object.entries(handlers)) es.addEventListener(name, m => f(JSON.parse(m.data), m.lastEventId));
    es.onerror = async () => {
      es.close();
      const r = await fetch('/api/v1/me').catch(() => null);
      if (ended) return;
      if (r && r.status === 401) location.reload();
      lost.value = !r;
      timer = setTimeout(() => { if (!ended) open(); }, 500);
    };
  };
  open();
  return () => { ended = true; clearTimeout(timer); es.close(); };
}

// Words draws parts that the server made of Markdown. Every text is a text.
const tags = {p: 'p', ul: 'ul', ol: 'ol', li: 'li', quote: 'blockquote', hr: 'hr', tr: 'tr', td: 'td', th: 'th', em: 'em', strong: 'strong', code: 'code'};
export function Words({of}) {
  return (of || []).map((n, i) => {
    if (!n.kind) return n.text;
    const kids = n.text || html`<${Words} of=${n.parts} />`;
    if (n.kind === 'pre') return h('pre', {key: i, tabIndex: 0}, n.text);
    if (n.kind === 'h') return h('p', {key: i, class: 'heading'}, kids);
    if (n.kind === 'table') return h('div', {key: i, class: 'wide', tabIndex: 0}, h('table', null, h('tbody', null, kids)));
    if (n.kind === 'hr') return h('hr', {key: i});
    return h(tags[n.kind] || 'span', {key: i}, kids);
  });
}

// Choices offers what a question lists as answers.
const flat = of => (of || []).map(n => n.text || flat(n.parts)).join('');
export function Choices({of, pick}) {
  const all = (of || []).filter(n => n.kind === 'ul' || n.kind === 'ol').flatMap(n => n.parts).map(li => flat(li.parts).trim()).filter(Boolean);
  return all.length ? html`<div class="row" role="group" aria-label="Choices">${all.map(c => html`<button type="button" key=${c} onClick=${() => pick(c)}>${c}</button>`)}</div>` : null;
}

export const money = s => s.cost > 0 ? '$' + (s.cost < 1 ? s.cost.toFixed(3) : s.cost.toFixed(2)) + (s.estimate ? ' (estimate)' : '') : used(s) > 0 ? tokens(used(s)) + ' tokens' : '';
export const used = s => s.tokens ?? (s.input || 0) + (s.output || 0) + (s.cache_read || 0) + (s.cache_write || 0);
export const tokens = n => n >= 1e6 ? (n / 1e6).toFixed(1) + 'M' : n >= 1e3 ? (n / 1e3).toFixed(1) + 'k' : String(n);
export const bytes = n => n < 0 ? '…' : n >= 1e9 ? (n / 1e9).toFixed(1) + ' GB' : n >= 1e6 ? (n / 1e6).toFixed(1) + ' MB' : n >= 1e3 ? (n / 1e3).toFixed(1) + ' kB' : n + ' B';
const none = t => !t || t.startsWith('0001-');
export function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  return s < 60 ? s + 's' : s < 3600 ? Math.floor(s / 60) + 'm ' + s % 60 + 's' : s < 172800 ? Math.floor(s / 3600) + 'h ' + Math.floor(s % 3600 / 60) + 'm' : Math.floor(s / 86400) + 'd';
}
export const Ago = ({at}) => none(at) ? null : html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${span(now.value - new Date(at))}</time>`;
export const clock = at => new Date(at).toLocaleTimeString();
export const runOf = s => s ? s.state + s.started + s.finished : ''; // changes with each run, however short
export const runs = st => st ? [...st.live, ...st.recent].map(s => s.id + runOf(s)).join() : '';
export const short = id => (id || '').slice(0, 10);
export const base = path => (path || '').split('/').pop();

export const count = (n, what) => n + ' ' + what + (n === 1 ? '' : 's');

// calm is false for a moment when the page has come into sight, and when something else has come under the pointer:
// another page can open this one just where somebody presses, and what is pressed must be what was seen.
export const calm = signal(false);
let calmAt = 0, calmTimer = 0, under = {}, spot = null;
// Buttons are drawn a moment later; the document itself says at once how it is.
function be(now) { calm.value = now; document.documentElement.toggleAttribute('data-calm', now); }
function startle(ms) {
  if (performance.now() + ms <= calmAt) return;
  calmAt = performance.now() + ms; be(false);
  clearTimeout(calmTimer); calmTimer = setTimeout(() => be(true), ms);
}
function look() {
  const e = spot && document.elementFromPoint(spot.x, spot.y)?.closest('button');
  return e ? {e, is: e.innerText + e.dataset.act} : {};
}
const shifted = () => { const u = look(); if (u.e !== under.e || u.is !== under.is) startle(500); under = u; };
for (const [of, name] of [[window, 'focus'], [window, 'pageshow'], [document, 'visibilitychange']]) of.addEventListener(name, () => { if (!document.hidden) startle(1000); });
for (const name of ['pointermove', 'pointerdown']) addEventListener(name, e => { spot = {x: e.clientX, y: e.clientY}; under = look(); }, true);
for (const name of ['scroll', 'resize']) addEventListener(name, shifted, true);
new MutationObserver(shifted).observe(document.body, {subtree: true, childList: true, characterData: true, attributeFilter: ['data-act']});
startle(1000);

// Act is a button that does something and never does it twice. What came of it stands in the frame of the page, since
// the button is often gone by then; why it was refused stands beside it.
export function Act({path, body, seen, children, main, danger, sure, done, disabled, onRefused}) {
  const [busy, setBusy] = useState(false), [said, setSaid] = useState(''), [asked, setAsked] = useState(false);
  const go = async () => {
    if (!calm.value) return;
    if (sure && !asked) { setAsked(true); return; }
    setAsked(false); setBusy(true); setSaid(''); told.value = [];
    try {
      const r = await act(path, {...(typeof body === 'function' ? body() : body), ...(seen === undefined ? {} : {seen})});
      told.value = r.says.length ? r.says : ['done'];
      if (done) done(r);
    } catch (e) {
      if (!onRefused || !onRefused(e)) setSaid(e.message);
    }
    setBusy(false);
  };
  return html`<span class="act"><button type="button" class=${[main && 'main', (danger || asked) && 'danger'].filter(Boolean).join(' ')}
      disabled=${busy || disabled} aria-disabled=${calm.value ? undefined : 'true'} data-act=${path + (seen || '')} onClick=${go}>${asked ? sure : children}</button>
    ${asked && html`<button type="button" onClick=${() => setAsked(false)}>No</button>`}
    <span role="status" class=${said ? 'bad said' : 'said'}>${busy ? 'asked …' : said}</span></span>`;
}

// GoOn lets a phase go on, which is the answer to what it asks.
export function GoOn({of: p, to, body = () => ({}), done, ...more}) {
  const act = (words, sure, add) => html`<${Act} path=${to + '/resume'} seen=${p.seen} body=${() => ({...add, ...body()})} sure=${sure} done=${done} ...${more}>${words}</${Act}>`;
  if (p.asks === 'side') return [act('Go on from theirs', 'Yes, from theirs; ours is kept at refs/cco', {take: 'theirs'}),
    act('Put ours on top', 'Yes, ours on top of theirs; no commit is lost', {take: 'ours'})];
  return p.asks === 'push' ? act('Push it', 'Yes, push it as it is') : act('Resume');
}

// useAsk reads something, and again when anything in the state has changed.
export function useAsk(path, again) {
  const [got, setGot] = useState({});
  useEffect(() => {
    let current = true;
    ask(path).then(v => current && setGot({v, path}), e => current && setGot(g => g.path === path && g.v ? g : {e, path}));
    return () => { current = false; };
  }, [path, again]);
  return got.path === path ? got : {};
}
// Part shows why it can't show something, and leaves the rest of the page as it is.
export class Part extends Component {
  componentDidCatch(e) { this.setState({e}); }
  render() { return this.state.e ? html`<p class="bad" role="alert">This part can't be shown: ${String(this.state.e.message || this.state.e)}</p>` : this.props.children; }
}
export const Wrong = ({of}) => of && of.length > 0 ? html`<div class="bad" role="alert">${of.map(w => html`<p>This could not be read: ${w}</p>`)}</div>` : null;
export const Oops = ({e}) => e ? html`<p class="bad" role="alert">${e.message}</p>` : null;
export const State = ({of}) => html`<span class=${'state ' + of}>${of}</span>`;
export {Fragment};
