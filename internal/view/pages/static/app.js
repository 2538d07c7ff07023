// The frame around all pages: which one is shown, what needs you, and whether the server is there.
import {render} from 'preact';
import {html, state, lost, told, stream, effect, signal, Part, Wrong} from '/assets/lib.js';
import {Home} from '/assets/home.js';
export * from '/assets/lib.js'; // pages that come later find it here

const where = signal(location.pathname);
const pages = [
  [/^\/$/, () => html`<${Home} />`],
  [/^\/session\/([0-9a-f]{8})$/, id => html`<${Lazy} of="session" name="Session" id=${id} key=${id} />`],
  [/^\/session\/([0-9a-f]{8})\/changes$/, id => html`<${Lazy} of="changes" name="Changes" id=${id} key=${id} />`],
  [/^\/session\/([0-9a-f]{8})\/terminal$/, id => html`<${Lazy} of="terminal" name="Terminal" id=${id} key=${id} />`],
  [/^\/phase\/([0-9a-z]+)$/, id => html`<${Lazy} of="phase" name="Phase" id=${id} key=${id} />`],
  [/^\/boxes$/, () => html`<${Lazy} of="boxes" name="Boxes" />`],
  [/^\/box\/([^/]+)$/, id => html`<${Lazy} of="safety" name="Safety" id=${decodeURIComponent(id)} key=${id} />`],
  [/^\/money$/, () => html`<${Lazy} of="money" name="Money" />`],
  [/^\/log$/, () => html`<${Lazy} of="boxes" name="Log" />`],
];

const loaded = {};
function Lazy({of, name, ...props}) {
  const m = loaded[of] ||= signal(null);
  if (!m.value) { import(`/assets/${of}.js`).then(v => { m.value = v; }, () => { delete loaded[of]; lost.value = true; }); return html`<p class="quiet">${name}</p>`; }
  return html`<${m.value[name]} ...${props} />`;
}

export function go(to) {
  if (to !== location.pathname) history.pushState(null, '', to);
  where.value = to;
  told.value = [];
  scrollTo(0, 0);
  document.getElementById('main')?.focus({preventScroll: true});
}
addEventListener('popstate', () => { where.value = location.pathname; });
addEventListener('click', e => {
  const a = e.target.closest && e.target.closest('a');
  if (!a || a.target || a.origin !== location.origin || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
  e.preventDefault();
  go(a.pathname);
});
addEventListener('keydown', e => {
  if (e.key === '/' && !e.target.closest('input, textarea, select, .xterm')) { const s = document.querySelector('input[type=search]'); if (s) { e.preventDefault(); s.focus(); } }
});

effect(() => {
  const n = state.value ? state.value.needs.length : 0;
  document.title = (n ? `(${n}) ` : '') + 'cco';
  document.querySelector('link[rel=icon]').href = '/assets/icon.svg' + (n ? '?n=' + Math.min(n, 99) : '');
});

function App() {
  const path = where.value, n = state.value ? state.value.needs.length : 0;
  let shown = html`<h1>There is nothing here</h1><p><a href="/">What needs you</a></p>`;
  for (const [is, make] of pages) { const m = path.match(is); if (m) { shown = make(...m.slice(1)); break; } }
  const at = to => path === to ? 'page' : undefined;
  return html`<a class="skip" href="#main" onClick=${e => { e.preventDefault(); e.stopPropagation(); document.getElementById('main').focus(); }}>To the content</a>
    <header><nav aria-label="Pages">
      <a href="/" aria-current=${at('/')}>Home${n ? html` <b class="count" aria-label=${n + ' need you'}>${n}</b>` : ''}</a>
      <a href="/boxes" aria-current=${at('/boxes')}>Boxes</a><a href="/money" aria-current=${at('/money')}>Money</a>
      <a href="/log" aria-current=${at('/log')}>Log</a></nav></header>
    <div role="status" class="lost">${lost.value ? html`<p>cco view does not answer. What you see may be old; this page comes back by itself when <code>cco view</code> runs again.</p>` : null}</div>
    <main id="main" tabindex="-1"><${Wrong} of=${state.value && state.value.wrong} /><${Part} key=${path}>${shown}</${Part}></main>
    <div role="status" class="told">${told.value.length > 0 && html`<div class="toast"><p>${told.value[0]} <button type="button" onClick=${() => { told.value = []; }}>OK</button></p>
      ${told.value.length > 1 && html`<details><summary>${told.value.length - 1} more</summary><ul>${told.value.slice(1).map(t => html`<li>${t}</li>`)}</ul></details>`}</div>`}</div>`;
}

// start shows what was asked for while this came, or the frame alone if that takes long, and follows what comes then.
export async function start(first) {
  const shown = s => {
    if (!state.value) requestAnimationFrame(() => performance.mark('shown')); // what make bench waits for
    state.value = s;
  };
  const given = first.then(r => r && r.ok ? r.json() : null).then(s => { if (s && !state.value) shown(s); }, () => {});
  await Promise.race([given, new Promise(soon => setTimeout(soon, 100))]);
  render(html`<${App} />`, document.getElementById('page'));
  stream(() => '/events', {state: shown});
}
