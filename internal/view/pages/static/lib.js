// What all pages share: asking the server, following it, and showing words of strangers as text.
import {h, Component, Fragment} from 'preact';
import {useEffect, useLayoutEffect, useMemo, useRef, useState} from 'preact/hooks';
import {signal} from '@preact/signals';
import htm from 'htm';
import {choices} from '/assets/words.js';

export const html = htm.bind(h);
export {signal, computed, effect} from '@preact/signals';
export {useState, useEffect, useLayoutEffect, useRef} from 'preact/hooks';
export {Words, flat, heads} from '/assets/words.js';

export const lost = signal(false); // the server does not answer
export const told = signal(null); // what the last press came to, and what else was said of it: {bad, says}
export const state = signal(null); // what the stream of states said last
export const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 1000);

export class Refused extends Error {
  constructor(said, status) {
    super(said.error || 'it is refused: ' + status);
    this.held = said.held || [];
    this.status = status;
  }
}

async function call(path, how) {
  let r;
  try {
    r = await fetch('/api/v1' + path, how);
  } catch (e) {
    lost.value = true;
    throw new Refused({error: 'cco does not answer'}, 0);
  }
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
  let es,
    timer,
    ended = false;
  const open = () => {
    es = new EventSource('/api/v1' + address());
    es.onopen = () => {
      lost.value = false;
    };
    for (const [name, f] of Object.entries(handlers))
      es.addEventListener(name, m => f(JSON.parse(m.data), m.lastEventId, m.data));
    es.onerror = async () => {
      es.close();
      const r = await fetch('/api/v1/me').catch(() => null);
      if (ended) return;
      if (r && r.status === 401) location.reload();
      lost.value = !r;
      timer = setTimeout(() => {
        if (!ended) open();
      }, 500);
    };
  };
  open();
  return () => {
    ended = true;
    clearTimeout(timer);
    es.close();
  };
}

// Icon draws one of a few signs, of strokes: they take the colour of what they stand in.
export const signs = {
  ask:
    'M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 1 0 0-12.5' +
    'M6.2 6.3a1.85 1.85 0 1 1 2.6 1.75c-.6.25-.8.6-.8 1.2M8 11.4v.05',
  limit: 'M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 1 0 0-12.5M6.5 6v4M9.5 6v4',
  held: 'M8 1.75 13 3.5v4c0 3.2-2.1 5.4-5 6.75C5.1 12.9 3 10.7 3 7.5v-4ZM8 5v3.25M8 10.6v.05',
  safe: 'M8 1.75 13 3.5v4c0 3.2-2.1 5.4-5 6.75C5.1 12.9 3 10.7 3 7.5v-4Zm-2.3 6 1.7 1.7 2.9-3.2',
  ready: 'M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 1 0 0-12.5M5.4 8.2l1.8 1.8 3.5-3.7',
  fail: 'M8 1.75a6.25 6.25 0 1 0 0 12.5a6.25 6.25 0 1 0 0-12.5M6 6l4 4M10 6l-4 4',
  run: 'M8 1.75A6.25 6.25 0 1 1 1.75 8M8 7.2a.8.8 0 1 0 0 1.6a.8.8 0 1 0 0-1.6',
  done: 'M3 8.5l3.2 3.2L13 4.8',
  gone: 'M3 8h10',
  search: 'M7 2.25a4.75 4.75 0 1 0 0 9.5a4.75 4.75 0 1 0 0-9.5M10.5 10.5 14 14',
  no: 'M4 4l8 8M12 4l-8 8',
  plus: 'M8 2.75v10.5M2.75 8h10.5',
  right: 'M6 3.5l4.5 4.5L6 12.5',
  left: 'M10 3.5 5.5 8l4.5 4.5',
  up: 'M3.5 10 8 5.5l4.5 4.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  arrow: 'M8 2.5v10.5M3.8 9 8 13.2 12.2 9',
  file: 'M3.5 1.75h5.25l3.75 3.75v8.75h-9ZM8.75 1.75V5.5h3.75',
  dir: 'M1.75 3.25h4.5l1.5 2h6.5v7.5H1.75Z',
  box: 'M8 1.75 13.5 4.9v6.2L8 14.25 2.5 11.1V4.9ZM2.5 4.9 8 8l5.5-3.1M8 8v6.25',
  inbox: 'M2 9.5 3.9 3h8.2L14 9.5v3.75H2ZM2 9.5h3.6l1 1.75h2.8l1-1.75H14',
  money:
    'M8 1.75v12.5M11 4.6C10.4 3.8 9.4 3.4 8 3.4c-1.8 0-3 .8-3 2.1' +
    'C5 8.6 11.2 7.2 11.2 10.4c0 1.4-1.3 2.2-3.2 2.2-1.6 0-2.7-.6-3.2-1.5',
  log: 'M3 3.5h10M3 8h10M3 12.5h6',
  branch:
    'M4.5 5.5v5M4.5 2.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3' +
    'M4.5 10.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3' +
    'M11.5 2.5a1.5 1.5 0 1 0 0 3a1.5 1.5 0 1 0 0-3M11.5 5.5c0 3-7 2-7 5',
};
export const Icon = ({of, label, c = ''}) => html`
  <svg
    class=${'i ' + c}
    viewBox="0 0 16 16"
    role=${label ? 'img' : undefined}
    aria-label=${label}
    aria-hidden=${label ? undefined : 'true'}>
    <path d=${signs[of]} />
  </svg>
`;
// make makes an element of the document, with what is in it.
export const make = (name, c, ...has) => {
  const e = document.createElement(name);
  if (c) e.className = c;
  e.append(...has);
  return e;
};
// Bar is a share of something, 0 to 1.
export const Bar = ({at, c = 'm', label}) => html`
  <svg
    class=${'bar ' + c}
    role=${label ? 'img' : undefined}
    aria-label=${label}
    aria-hidden=${label ? undefined : 'true'}>
    <rect width=${Math.max(0, Math.min(100, Math.round((at || 0) * 100))) + '%'} height="8" rx="4" />
  </svg>
`;

// Choices offers what a question lists as answers.
export function Choices({of, pick}) {
  const all = useMemo(() => choices(of), [of]);
  return all.length ? html`
    <div class="f wrap" role="group" aria-label="Choices">
      ${all.map(c => html`
        <button type="button" class="btn long" key=${c} onClick=${() => pick(c)}>
          <span class="cut">${c}</span>
        </button>
      `)}
    </div>
  ` : null;
}

const thousands = new Intl.NumberFormat('en-US', {minimumFractionDigits: 2, maximumFractionDigits: 2});
export const dollars = n =>
  '$' + (n >= 1e4 ? thousands.format(n) : n > 0 && n < 0.01 ? n.toFixed(3) : n.toFixed(2));
// cents says as much of an amount as a column holds.
export const cents = n =>
  n >= 1e4 ? '$' + Math.round(n / 1e3) + 'k' : n >= 100 ? '$' + Math.round(n) : dollars(n);
export const money = s => (s.cost > 0 ? dollars(s.cost) : used(s) > 0 ? tokens(used(s)) + ' tokens' : '');
export const used = s =>
  s.tokens ?? (s.input || 0) + (s.output || 0) + (s.cache_read || 0) + (s.cache_write || 0);
export const tokens = n =>
  n >= 1e6 ? (n / 1e6).toFixed(1) + 'M' : n >= 1e3 ? (n / 1e3).toFixed(1) + 'k' : String(n);
export const bytes = n =>
  n < 0
    ? '…'
    : n >= 1e9
      ? (n / 1e9).toFixed(1) + ' GB'
      : n >= 1e6
        ? (n / 1e6).toFixed(1) + ' MB'
        : n >= 1e3
          ? (n / 1e3).toFixed(1) + ' kB'
          : n + ' B';
export const none = t => !t || t.startsWith('0001-');
export function span(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  return s < 60
    ? s + 's'
    : s < 3600
      ? Math.floor(s / 60) + 'm' + (s < 600 && s % 60 ? ' ' + (s % 60) + 's' : '')
      : s < 172800
        ? Math.floor(s / 3600) + 'h ' + Math.floor((s % 3600) / 60) + 'm'
        : Math.floor(s / 86400) + 'd';
}
export const brief = ms => {
  const s = Math.max(0, Math.floor(ms / 1000));
  return s < 60
    ? s + 's'
    : s < 3600
      ? Math.floor(s / 60) + 'm'
      : s < 172800
        ? Math.floor(s / 3600) + 'h'
        : Math.floor(s / 86400) + 'd';
};
// exact, clock and day say when something was; what makes the words of a time is dear, and is made once.
const how = o => {
  const f = new Intl.DateTimeFormat([], o);
  return at => f.format(new Date(at));
};
export const exact = how({dateStyle: 'medium', timeStyle: 'medium'});
export const clock = how({hour: '2-digit', minute: '2-digit', hourCycle: 'h23'});
const month = how({day: 'numeric', month: 'short'});
export const day = at => month(at) + ' ' + clock(at);
export const Ago = ({at, long}) =>
  none(at) ? null : html`
    <time datetime=${at} title=${exact(at)}>
      ${(long ? span : brief)(now.value - new Date(at))}
    </time>
  `;
export const runOf = s => (s ? s.state + s.started + s.finished : ''); // changes with each run, however short
export const runs = st => (st ? [...st.live, ...st.recent].map(s => s.id + runOf(s)).join() : '');
export const short = id => (id || '').slice(0, 10);
export const base = path => (path || '').split('/').pop();
// subject is what a need is about: a comment is about its phase.
export const subject = n => n.parent || n.id;
export const waiting = st => (st ? new Set(st.needs.map(subject)).size : 0);
export const count = (n, what) => n + ' ' + what + (n === 1 ? '' : 's');
// plainly is why a session stopped, as people say it: a limit has the name of its setting.
export const plainly = why =>
  (why || '').replace(
    /^limits\.(run|day)_(cost|tokens) of (\S+)/,
    (_, of, what, most) => `The ${of}’s limit of ${most}${what === 'tokens' ? ' tokens' : ''}`,
  );
export const titleOf = s => s.title || 'Session ' + s.id;

// Path is cut in its middle: the end says most.
export function Path({of, c = ''}) {
  const at = of.lastIndexOf('/') + 1;
  return html`
    <span class=${'path ' + c} title=${of} style=${{'--n': of.length - at}}>
      <span>${of.slice(0, at)}</span>
      <span>${of.slice(at)}</span>
    </span>
  `;
}
export const Plus = ({s}) => html`
  ${s.added > 0 && html`<span class="ok">+${s.added}</span>`}${' '}
  ${s.deleted > 0 && html`<span class="del">−${s.deleted}</span>`}
`;
const hues = {claude: 'org', codex: 'teal', gemini: 'acc', copilot: 'vio', opencode: 'ok'};
export const hue = agent => hues[agent] || 'gry';
export const Agent = ({of, c = ''}) => html`
  <span class=${'f g1 ' + c}>
    <span class=${'dot ' + hue(of)}></span>
    <span class="cut">${of}</span>
  </span>
`;
export const dangers = {high: 'bad', medium: 'warn', low: ''};
export const Danger = ({of, n}) => html`
  <span class=${'chip ' + (dangers[of] || '')}>
    ${n ? n + ' ' : ''}
    ${of}
  </span>
`;

// useTitle names the document after what it shows.
export function useTitle(words) {
  useEffect(() => {
    title.value = words || '';
    return () => {
      title.value = '';
    };
  }, [words]);
}
export const title = signal('');

// calm is false for a moment when the page has come into sight, and when something else has come under the pointer:
// another page can open this one just where somebody presses, and what is pressed must be what was seen.
export const calm = signal(false);
let calmAt = 0,
  calmTimer = 0,
  under = {},
  spot = null;
// Buttons are drawn a moment later; the document itself says at once how it is.
function be(now) {
  calm.value = now;
  document.documentElement.toggleAttribute('data-calm', now);
}
function startle(ms) {
  if (performance.now() + ms <= calmAt) return;
  calmAt = performance.now() + ms;
  be(false);
  clearTimeout(calmTimer);
  calmTimer = setTimeout(() => be(true), ms);
}
function look() {
  const e = spot && document.elementFromPoint(spot.x, spot.y)?.closest('button');
  return e ? {e, is: e.innerText + e.dataset.act} : {};
}
const shifted = () => {
  const u = look();
  if (u.e !== under.e || u.is !== under.is) startle(500);
  under = u;
};
for (const [of, name] of [
  [window, 'focus'],
  [window, 'pageshow'],
  [document, 'visibilitychange'],
])
  of.addEventListener(name, () => {
    if (!document.hidden) startle(1000);
  });
for (const name of ['pointermove', 'pointerdown'])
  addEventListener(
    name,
    e => {
      spot = {x: e.clientX, y: e.clientY};
      under = look();
    },
    true,
  );
for (const name of ['scroll', 'resize']) addEventListener(name, shifted, true);
// Rows that go to other places pass under the pointer.
addEventListener('transitionrun', e => {
  if (e.propertyName === 'transform') startle(500);
});
new MutationObserver(shifted).observe(document.body, {
  subtree: true,
  childList: true,
  characterData: true,
  attributeFilter: ['data-act'],
});
startle(1000);

// coded shows what stands between two marks of code as such.
const coded = text => text.split('`').map((x, i) => (i % 2 ? html`<code>${x}</code>` : x));

// wants is for a button whose field is empty: it leads into the field, and says what goes there.
export function wants(field, words) {
  field?.focus();
  told.value = {ask: true, says: [words]};
}

// Act is a button that does something and never does it twice. What came of it, or why it was refused, stands in the
// frame of the page, since the button is often gone by then. With sure it asks once more: sure says what will be done.
// With first, that is done instead: something is still to be said.
export function Act({
  path,
  body,
  seen,
  children,
  fill,
  quiet,
  danger,
  sure,
  yes = 'Yes, do it',
  done,
  disabled,
  first,
  onRefused,
  label,
  hint,
  icon,
}) {
  const [busy, setBusy] = useState(false),
    box = useRef(null);
  const go = async () => {
    setBusy(true);
    told.value = null;
    try {
      const r = await act(path, {
        ...(typeof body === 'function' ? body() : body),
        ...(seen === undefined ? {} : {seen}),
      });
      told.value = hint === '' ? null : {says: r.says.length ? r.says : ['done']};
      if (done) done(r);
    } catch (e) {
      if (!onRefused || !onRefused(e)) told.value = {bad: true, says: [e.message]};
    }
    setBusy(false);
  };
  const press = () => {
    if (!calm.value) return;
    if (first) first();
    else if (sure) box.current.showModal();
    else go();
  };
  const kind = [fill ? 'fill' : quiet ? 'q' : '', danger ? 'red' : '', icon ? 'ic' : ''].join(' ');
  return html`
    <span class="act">
      <button
        type="button"
        class=${'btn ' + kind}
        aria-label=${label}
        title=${label}
        disabled=${busy || disabled}
        aria-busy=${busy || undefined}
        aria-disabled=${calm.value ? undefined : 'true'}
        data-act=${path + (seen || '')}
        onClick=${press}>
        ${children}
      </button>
      ${sure && html`
        <dialog ref=${box} aria-label="Are you sure?">
          <p class="words">${coded(sure)}</p>
          <p class="f end2">
            <button type="button" class="btn" onClick=${() => box.current.close()}>No</button>
            <button
              type="button"
              class=${'btn fill ' + (danger ? 'red' : '')}
              data-act=${'yes ' + path}
              aria-disabled=${calm.value ? undefined : 'true'}
              onClick=${() => {
                if (calm.value) {
                  box.current.close();
                  go();
                }
              }}>
              ${yes}
            </button>
          </p>
        </dialog>
      `}
    </span>
  `;
}

// GoOn lets a phase go on, which is the answer to what it asks.
export function GoOn({of: p, to, body = () => ({}), done, ...more}) {
  const act = (words, sure, yes, add) => html`
    <${Act}
      path=${to + '/resume'}
      seen=${p.seen}
      body=${() => ({...add, ...body()})}
      sure=${sure}
      yes=${yes}
      done=${done}
      ...${more}>
      ${words}
    </${Act}>
  `;
  if (p.asks === 'side')
    return [
      act('Take theirs', 'The phase goes on from theirs. Ours is kept at refs/cco.', 'Yes, theirs', {
        take: 'theirs',
      }),
      act('Ours on top', 'Ours goes on top of theirs. No commit is lost.', 'Yes, ours', {take: 'ours'}),
    ];
  return p.asks === 'push'
    ? act('Push it', 'The work is pushed as it is, with what was found in it.', 'Yes, push it')
    : act((p.question || p.kind === 'answer') && !p.asks && !p.paused && !p.ended ? 'Yes, go on' : 'Resume');
}

// useAsk reads something, and again when anything in the state has changed. What was read stays until there is more;
// late says why there is not.
export function useAsk(path, again) {
  const [got, setGot] = useState({});
  useLayoutEffect(() => {
    if (!path) return;
    let current = true;
    ask(path).then(
      v => current && setGot({v, path}),
      e => current && setGot(g => (g.path === path && g.v ? {...g, late: e} : {e, path})),
    );
    return () => {
      current = false;
    };
  }, [path, again]);
  return got.path === path ? got : {};
}
// Part shows why it can't show something, and leaves the rest of the page as it is.
export class Part extends Component {
  componentDidCatch(e) {
    this.setState({e});
  }
  render() {
    return this.state.e ? html`
      <p class="bad pad" role="alert">
        This part can't be shown: ${String(this.state.e.message || this.state.e)}
      </p>
    ` : (
      this.props.children
    );
  }
}
export const Wrong = ({of}) =>
  of && of.length > 0 ? html`
    <div class="ask2" role="alert">
      ${of.map(w => html`
        <p>This could not be read: ${w}</p>
      `)}
    </div>
  ` : null;
// Oops is a screen that failed; Empty one that has nothing to show; Soon one that is being read, which says so only
// when that takes a while.
export const Empty = ({icon = 'inbox', head, children}) => html`
  <div class="empty">
    <${Icon} of=${icon} c="xl m" />
    <h2>${head}</h2>
    ${children && html`<p class="m">${children}</p>`}
  </div>
`;
export const Oops = ({e}) =>
  e ? html`
    <div class="empty" role="alert">
      <${Icon} of=${e.status === 404 ? 'search' : 'fail'} c=${'xl ' + (e.status === 404 ? 'm' : 'bad')} />
      <h2 class="fig">${e.status === 404 ? 'Not found' : 'This can’t be shown'}</h2>
      <p class="m">${coded(e.message)}</p>
      <p class="f">
        ${e.status !== 404 && html`
          <button type="button" class="btn" onClick=${() => location.reload()}>Try again</button>
        `}
        <a class=${'btn ' + (e.status === 404 ? 'fill' : 'q')} href="/">Go to inbox</a>
      </p>
    </div>
  ` : null;
export const Soon = () => html`
  <div class="soon" role="status">
    <span class="sr">Reading</span>
    <i></i>
    <i></i>
    <i></i>
  </div>
`;
// Copy takes a text along.
export const Copy = ({of, quiet, children = 'Copy'}) => html`
  <button
    type="button"
    class=${'btn end ' + (quiet ? 'q' : '')}
    onClick=${async () => {
      await navigator.clipboard?.writeText(of);
      told.value = {says: ['copied']};
    }}>
    ${children}
  </button>
`;
export {Fragment};
