// The frame around all pages: which one is shown, what needs you, and whether the server is there.
import {render} from 'preact';
import {
  html,
  state,
  lost,
  told,
  title,
  stream,
  effect,
  signal,
  useEffect,
  useLayoutEffect,
  useRef,
  dollars,
  waiting,
  Icon,
  Bar,
  Part,
  Wrong,
  Soon,
} from '/assets/lib.js';
import {Home} from '/assets/home.js';
export * from '/assets/lib.js'; // pages that come later find it here

const where = signal(location.pathname);
const of =
  (file, name) =>
  (...args) => html`<${Lazy} of=${file} name=${name} id=${args[0]} key=${name + args[0]} />`;
const pages = [
  [/^\/$/, () => html`<${Home} key="home" />`],
  [/^\/new$/, of('composer', 'New')],
  [/^\/session\/([0-9a-f]{8})$/, of('session', 'Session')],
  [/^\/session\/([0-9a-f]{8})\/changes$/, of('changes', 'Changes')],
  [/^\/session\/([0-9a-f]{8})\/terminal$/, of('terminal', 'Terminal')],
  [/^\/session\/([0-9a-f]{8})\/network$/, of('network', 'Network')],
  [/^\/session\/([0-9a-f]{8})\/plan$/, of('session', 'Plan')],
  [/^\/phase\/([0-9a-z]+)$/, of('phase', 'Phase')],
  [/^\/boxes$/, of('boxes', 'Boxes')],
  [/^\/box\/([^/]+)$/, id => of('boxes', 'Boxes')(decodeURIComponent(id))],
  [/^\/money$/, of('money', 'Money')],
  [/^\/log$/, of('log', 'Log')],
];

const loaded = {};
export function Lazy({of, name, ...props}) {
  const m = (loaded[of] ||= signal(null));
  if (!m.value) {
    import(`/assets/${of}.js`).then(
      v => {
        m.value = v;
      },
      () => {
        delete loaded[of];
        lost.value = true;
      },
    );
    return html`
      <main id="main" tabindex="-1"><${Soon} /></main>
    `;
  }
  const Shown = m.value[name];
  return html`<${Shown} ...${props} />`;
}

export function go(to) {
  const [path, at] = to.split('#');
  if (to !== location.pathname + location.hash) history.pushState(null, '', to);
  where.value = path;
  if (told.value && told.value.bad) told.value = null;
  scrollTo(0, 0);
  document.getElementById('main')?.focus({preventScroll: true});
  if (at) document.getElementById(at)?.scrollIntoView();
}
addEventListener('popstate', () => {
  where.value = location.pathname;
});
addEventListener('click', e => {
  const a = e.target.closest && e.target.closest('a');
  if (
    !a ||
    a.target ||
    a.origin !== location.origin ||
    e.ctrlKey ||
    e.metaKey ||
    e.shiftKey ||
    e.button ||
    e.defaultPrevented
  )
    return;
  e.preventDefault();
  go(a.pathname + a.hash);
});

// For a moment after a dialog has closed, keys still come from the button in it that had the focus.
const typing = e =>
  e.target.closest('input:not([type=checkbox]), textarea, select, .xterm, dialog[open]') ||
  e.ctrlKey ||
  e.metaKey ||
  e.altKey;
// keys are what the page that is shown does with a key; a page sets and takes away its own.
const own = new Set();
export function useKeys(map) {
  const now = useRef(map);
  now.current = map;
  useLayoutEffect(() => {
    own.add(now);
    return () => own.delete(now);
  }, []);
}
addEventListener('keydown', e => {
  if (e.key === 'Escape' && e.target.matches('input[type=search]')) {
    // A browser that empties the field does so without saying it.
    e.preventDefault();
    e.target.value = '';
    e.target.dispatchEvent(new Event('input', {bubbles: true}));
    e.target.blur();
    return;
  }
  if (typing(e)) return;
  if (e.key === '/') {
    const s = document.querySelector('input[type=search]');
    if (s) {
      e.preventDefault();
      s.focus();
    }
    return;
  }
  if (e.key === '?') {
    showKeys();
    return;
  }
  if (e.key === 'Enter' && e.target.checkVisibility() && e.target.closest('a, button, summary')) return;
  for (const map of own)
    if (map.current[e.key]) {
      e.preventDefault();
      map.current[e.key](e);
      return;
    }
});

effect(() => {
  const n = waiting(state.value);
  document.title = (n ? `(${n}) ` : '') + (title.value ? title.value + ' · cco' : 'cco');
  document.querySelector('link[rel=icon]').href = '/assets/icon.svg' + (n ? '?n=' + Math.min(n, 99) : '');
});

// showKeys has something to give the focus back to, also where nothing had it.
function showKeys() {
  if (document.activeElement === document.body) document.getElementById('main')?.focus({preventScroll: true});
  document.getElementById('keys').showModal();
}
const help = [
  ['j', 'k', 'the next, the one before'],
  ['enter', '', 'open it'],
  ['t', '', 'take it'],
  ['r', '', 'review it'],
  ['x', '', 'choose several'],
  ['n', 'p', 'the next finding, the one before'],
  ['↑', '↓', 'in changes, from line to line; enter comments on it'],
  ['/', '', 'filter or search'],
  ['?', '', 'this'],
];
const Keys = () => html`
  <dialog id="keys" aria-label="Keys">
    <h2>Keys</h2>
    <dl class="kv">
      ${help.map(([a, b, says]) => html`
        <dt>
          <kbd>${a}</kbd>
          ${b && html`<kbd>${b}</kbd>`}
        </dt>
        <dd>${says}</dd>
      `)}
    </dl>
    <p class="f end2">
      <button type="button" class="btn" onClick=${e => e.target.closest('dialog').close()}>Close</button>
    </p>
  </dialog>
`;

function Told() {
  const t = told.value;
  useEffect(() => {
    if (!t || t.bad) return;
    const timer = setTimeout(() => {
      if (told.value === t && !document.querySelector('.toast:hover, .toast:focus-within'))
        told.value = null;
    }, 12000);
    return () => clearTimeout(timer);
  }, [t]);
  return html`
    <div role="status" class="told">
      ${t && html`
        <div class=${'toast' + (t.bad ? ' bad' : '')}>
          <${Icon} of=${t.bad ? 'fail' : t.ask ? 'ask' : 'ready'} c=${t.bad ? '' : t.ask ? 'warn' : 'ok'} />
          <div class="grow">
            <p>${t.says[0]}</p>
            ${t.says.length > 1 && html`
              <details>
                <summary>${t.says.length - 1} more</summary>
                <ul>
                  ${t.says.slice(1).map(x => html`
                    <li>${x}</li>
                  `)}
                </ul>
              </details>
            `}
          </div>
          <button
            type="button"
            class="btn q ic"
            aria-label="OK"
            onClick=${() => {
              told.value = null;
            }}>
            <${Icon} of="no" />
          </button>
        </div>
      `}
    </div>
  `;
}

function App() {
  const path = where.value,
    s = state.value,
    n = waiting(s);
  let shown = html`<${Lazy} of="log" name="Gone" key="gone" />`;
  for (const [is, make] of pages) {
    const m = path.match(is);
    if (m) {
      shown = make(...m.slice(1));
      break;
    }
  }
  const at = to => (path === to || (to === '/boxes' && path.startsWith('/box/')) ? 'page' : undefined);
  const badge = n > 0 && html`
    <span class="chip" aria-label=${n + ' need you'}>${n}</span>
  `;
  const today = s ? s.today.cost : 0,
    most = s && s.day;
  const tab = (to, icon, name) => html`
    <a href=${'/' + to} aria-current=${at('/' + to)}>
      <${Icon} of=${icon} />
      ${name}
    </a>
  `;
  return html`
    <a
      class="skip"
      href="#main"
      onClick=${e => {
        e.preventDefault();
        e.stopPropagation();
        document.getElementById('main').focus();
      }}>
      To the content
    </a>
    <header class="top">
      <a class="logo" href="/" tabindex="-1" aria-hidden="true">cco</a>
      <nav class="f" aria-label="Pages">
        <a href="/" aria-current=${at('/')}>Inbox${badge}</a>
        <a href="/boxes" aria-current=${at('/boxes')}>Boxes</a>
        <a href="/money" aria-current=${at('/money')}>Money</a>
        <a href="/log" aria-current=${at('/log')}>Log</a>
      </nav>
      <a
        class="end"
        href="/money"
        aria-label=${`Today ${dollars(today)}` + (most ? ' of ' + dollars(most) : '')}>
        <span class="s">Today ${dollars(today)}</span>
        ${most > 0 && html`<${Bar} at=${today / most} c=${today < most ? 'm' : 'warn'} />`}
      </a>
      <button
        type="button"
        class="btn q ic dk"
        aria-label="Keys"
        onClick=${showKeys}>
        <kbd>?</kbd>
      </button>
    </header>
    <div role="status" class="lost">
      ${lost.value ? html`
        <p>
          cco view does not answer. What you see may be old; this page comes back by itself when${' '}
          <code>cco view</code> runs again.
        </p>
      ` : null}
    </div>
    <div class="screen">
      <${Wrong} of=${s && s.wrong} />
      <${Part} key=${path}>${shown}</${Part}>
    </div>
    <nav class="tabbar" aria-label="Pages, at hand">
      ${tab('', 'inbox', html`<span class="f">Inbox${badge}</span>`)}
      ${tab('new', 'plus', 'New')}
      ${tab('boxes', 'box', 'Boxes')}
      ${tab('money', 'money', 'Money')}
      ${tab('log', 'log', 'Log')}
    </nav>
    <${Told} />
    <${Keys} />
  `;
}

// start shows what was asked for while this came, or the frame alone if that takes long, and follows what comes then.
export async function start(first) {
  let was = ''; // the same again is not drawn again
  const shown = (s, _, text) => {
    if (text === was) return;
    if (!state.value) requestAnimationFrame(() => performance.mark('shown')); // what make bench waits for
    was = text;
    state.value = s;
  };
  const given = first
    .then(r => (r && r.ok ? r.text() : ''))
    .then(
      text => {
        if (text && !state.value) shown(JSON.parse(text), '', text.trim());
      },
      () => {},
    );
  await Promise.race([given, new Promise(soon => setTimeout(soon, 100))]);
  render(html`<${App} />`, document.getElementById('page'));
  stream(() => '/events', {state: shown});
}
