// The inbox: every session once, in rows by what it needs, and beside them the one that is chosen.
import {
  html,
  act,
  state,
  told,
  calm,
  useEffect,
  useRef,
  useState,
  useAsk,
  Words,
  Act,
  Ago,
  Agent,
  Bar,
  Empty,
  Icon,
  Part,
  Path,
  Plus,
  count,
  dollars,
  base,
  flat,
  money,
  none,
  plainly,
  runOf,
  subject,
  titleOf,
} from '/assets/lib.js';
import {kinds, signOf, clean, toOf, apiOf, Answer, Later, Discard, Findings} from '/assets/need.js';
import {Composer, Begin} from '/assets/composer.js';
import {Rows} from '/assets/row.js';
import {go, useKeys} from '/assets/app.js';

const groups = [
  ['asks', 'Asks'],
  ['held', 'Held by the gate'],
  ['ready', 'Ready'],
  ['running', 'Running'],
  ['done', 'Done'],
];

// rowsOf makes a row of everything, the most urgent first: needs come in the order of all lists of them. What asks for
// more than one thing has one row; the others wait in it.
function rowsOf(st) {
  const rows = [],
    by = {},
    phases = new Map(st.phases.map(p => [p.id, p])),
    seen = new Map();
  for (const v of [...st.live, ...st.recent]) by[v.id] = v;
  for (const n of st.needs) {
    const id = subject(n),
      v = by[n.id],
      [group, icon, c, says, does] = kinds[n.kind] || kinds.look;
    if (seen.has(id)) {
      seen.get(id).push(n);
      continue;
    }
    const more = [];
    seen.set(id, more);
    rows.push({
      key: n.of + id,
      id,
      n,
      more,
      v,
      group,
      icon,
      c,
      says,
      does,
      to: toOf(n),
      title: n.title || n.id,
      note: n.kind === 'pull' || n.kind === 'decide' ? '' : flat(plainly(n.words)).slice(0, 160) || says,
      repo: n.repo,
      branch: n.branch,
      agent: n.agent || (n.of === 'phase' ? 'phase' : ''),
      cost: v ? v.spent : phases.get(id),
      size: v && v.size,
      at: n.since,
    });
  }
  const plain = (v, group, icon, c, says, live) =>
    rows.push({
      key: 'session' + v.id,
      id: v.id,
      v,
      live,
      group,
      icon,
      c,
      says,
      does: live ? 'Open' : '',
      to: '/session/' + v.id,
      title: titleOf(v),
      note: live ? v.last : plainly(v.reason) || (v.state === 'pulled' ? 'taken into ' + v.branch : ''),
      repo: v.repo,
      branch: v.branch,
      agent: v.agent,
      cost: v.spent,
      size: v.size,
      at: none(v.finished) || live ? v.started || v.created : v.finished,
    });
  for (const v of st.live) if (!seen.has(v.id)) plain(v, 'running', ...signOf(v, true), true);
  for (const p of st.phases)
    if (!seen.has(p.id)) {
      rows.push({
        key: 'phase' + p.id,
        id: p.id,
        p,
        group: p.ended ? 'done' : 'running',
        icon: p.ended ? 'done' : 'run',
        c: p.ended ? 'm' : 'acc',
        says: p.stage,
        does: '',
        to: '/phase/' + p.id,
        title: p.title || p.id,
        note: p.ended ? p.stage : p.stage + (p.pr_number ? ', request ' + p.pr_number : ''),
        repo: p.repo,
        branch: p.branch,
        agent: 'phase',
        cost: p,
        at: p.updated,
      });
    }
  for (const v of st.recent)
    if (!seen.has(v.id)) plain(v, 'done', ...signOf(v, false), false);
  return rows;
}

// While somebody reads, what is new waits, and rows stay where they are.
let busyAt = -Infinity;
for (const name of ['pointermove', 'keydown', 'wheel', 'touchstart', 'scroll'])
  addEventListener(
    name,
    () => {
      busyAt = performance.now();
    },
    {passive: true},
  );
const reads = () => !document.hidden && (scrollY > 0 || performance.now() - busyAt < 20000);
function useHeld(rows) {
  const at = useRef(null),
    [, look] = useState(0),
    places = rows.map(r => r.group + r.key).join();
  if (!at.current || !reads()) at.current = {places, keys: rows.map(r => [r.key, r.group])};
  const same = at.current.places === places;
  // What waits is shown when nobody reads any more, also if nothing else comes.
  useEffect(() => {
    const t = !same && setInterval(() => reads() || look(n => n + 1), 1000);
    return () => clearInterval(t);
  }, [same]);
  if (same) return {rows, fresh: 0};
  const by = new Map(rows.map(r => [r.key, r])),
    was = new Set(at.current.keys.map(k => k[0]));
  const kept = at.current.keys
    .filter(([k]) => by.has(k))
    .map(([k, group]) => ({...by.get(k), shown: group}));
  return {
    rows: kept,
    fresh: rows.filter(r => !was.has(r.key)).length || kept.filter(r => r.shown !== r.group).length,
    show: () => {
      at.current = null;
    },
  };
}

// TakeAll takes one after the other, each of which says what it took, and never does it twice. The first moves the branch
// that the others began at, so they are merged.
function TakeAll({list, done, c = '', children}) {
  const [busy, setBusy] = useState(false);
  const go = async () => {
    if (!calm.value || busy) return;
    setBusy(true);
    const says = [],
      bad = [];
    for (const r of list) {
      try {
        says.push(...(await act(apiOf(r.n) + '/pull', {seen: r.n.work, merge: true})).says);
      } catch (e) {
        bad.push(r.title + ': ' + e.message);
      }
    }
    told.value = {bad: bad.length > 0, says: [...bad, ...says]};
    setBusy(false);
    done();
  };
  return html`
    <button
      type="button"
      class=${'btn ' + c}
      disabled=${busy}
      aria-disabled=${calm.value ? undefined : 'true'}
      data-act=${list.map(r => r.n.work).join()}
      onClick=${go}>
      ${children}
    </button>
  `;
}

// Pane says of the chosen one what it is, and whether it is safe.
function Pane({r, done}) {
  const id = r.id,
    over = r.v && !r.live && r.n?.kind !== 'answer' && r.n?.kind !== 'limit',
    [soon, setSoon] = useState('');
  useEffect(() => {
    const t = setTimeout(() => {
      setSoon(id);
      if (r.v) import('/assets/changes.js').catch(() => {}); // it is likely to be asked for
    }, 200);
    return () => clearTimeout(t);
  }, [id]);
  const {v: d} = useAsk(soon === id && r.v ? '/sessions/' + id : '', runOf(r.v)),
    {v: c} = useAsk(soon === id && over ? `/sessions/${id}/changes` : '', runOf(r.v) + (r.size ? 1 : 0));
  const most = d && d.limits.run_cost,
    files = c ? c.files : [];
  const danger = f =>
    ['high', 'medium'].find(x =>
      [...f.found, ...f.hunks.flatMap(h => h.lines.flatMap(l => l.found || []))].some(y => y.danger === x),
    );
  return html`
    <aside class="pane" aria-label="The chosen one">
      <div class="stack l">
        <div>
          <p class="f">
            <span class=${'chip ' + (r.c === 'm' ? '' : r.c)}>
              <${Icon} of=${r.icon} />
              ${r.says[0].toUpperCase() + r.says.slice(1)}
            </span>
            <span class="m s end"><${Ago} at=${r.at} long /></span>
          </p>
          <h2 class="big any"><bdi>${r.title}</bdi></h2>
        </div>
        <dl class="kv">
          ${r.repo && html`
            <dt>Into</dt>
            <dd class="cut" title=${r.repo}>
              ${base(r.repo)}
              ${r.branch ? ' · ' + r.branch : ''}
            </dd>
          `}
          ${r.v && html`
            <dt>Agent</dt>
            <dd class="f"><${Agent} of=${r.agent} /> <span class="m cut">${r.v.model}</span></dd>
          `}
          ${r.size && html`
            <dt>Came back</dt>
            <dd>
              ${c ? count(c.commits.length, 'commit') + ', ' : ''}
              ${count(r.size.files, 'file')}, <${Plus} s=${r.size} />
            </dd>
          `}
          ${r.cost && money(r.cost) && html`
            <dt>Cost</dt>
            <dd class="f">
              <span>${money(r.cost)}</span>
              ${most > 0 && html`
                <${Bar} at=${r.cost.cost / most} c=${r.cost.cost < most ? 'm' : 'warn'} />
                <span class="m">${dollars(most)}</span>
              `}
            </dd>
          `}
        </dl>
        ${r.n && r.n.words && !r.n.held?.length && html`
          <section>
            ${r.says === 'asks' && html`<h3>It asks</h3>`}
            <div class="words"><${Words} of=${plainly(r.n.words)} /></div>
          </section>
        `}
        ${r.more?.length > 0 && html`
          <section>
            <h3>Strangers say</h3>
            ${r.more.map(n => html`
              <div class="said" key=${n.id}>
                <p class="m s">${n.agent} (not trusted)</p>
                <div class="words"><${Words} of=${n.words} /></div>
              </div>
            `)}
            <p class="s"><a class="acc" href=${r.to}>Decide on its page</a></p>
          </section>
        `}
        ${r.n?.wrong && html`<p class="bad">${r.n.wrong}</p>`}
        ${r.n?.held?.length > 0 && html`
          <section>
            <h3>Findings</h3>
            <${Findings} of=${r.n.held} />
          </section>
        `}

        ${files.length > 0 && html`
          <section>
            <h3>Files</h3>
            <ul class="list">
              ${files.slice(0, 12).map(f => html`
                <li class="f" key=${f.path}>
                  <${Icon} of="file" c="m" />
                  <${Path} of=${f.path} c="mono grow" />
                  ${danger(f) && html`<span class=${'dot ' + (danger(f) === 'high' ? 'bad' : 'warn')}></span>`}
                  <span class="n s"><${Plus} s=${f} /></span>
                </li>
              `)}
            </ul>
            ${files.length > 12 && html`<p class="m s">and ${files.length - 12} more</p>`}
          </section>
        `}
        ${(d?.last || (r.live && r.note)) && html`
          <section>
            <h3>Last message</h3>
            <p class="m any">${(r.live ? r.note : d.last).replace(/^==> /, '')}</p>
          </section>
        `}
      </div>
      <div class="dock">
        ${r.n ? html`
          <${Answer} n=${r.n} key=${r.n.seen + r.n.work} then=${done} />
          <span class="f end">
            <${Later} n=${r.n} then=${done} />
            ${over && r.n.of === 'session' && html`<${Discard} id=${id} seen=${r.n.seen} then=${done} />`}
          </span>
        ` : html`
          <a class="btn" href=${r.to}>Open</a>
          ${r.live && html`
            <span class="end">
              <${Act}
                path=${'/sessions/' + id + '/kill'}
                danger
                sure="Its agent ends, and what it did is kept."
                yes="Yes, end it">
                Stop
              </${Act}>
            </span>
          `}
        `}
      </div>
    </aside>
  `;
}

const kept = {on: '', filter: '', repo: '', all: false}; // as it was left
export function Home() {
  const st = state.value,
    [on, setOn] = useState(kept.on),
    [filter, setFilter] = useState(kept.filter),
    [repo, setRepo] = useState(kept.repo),
    [all, setAll] = useState(kept.all),
    [marked, setMarked] = useState([]),
    [, again] = useState(0);
  Object.assign(kept, {on, filter, repo, all});
  const every = st ? rowsOf(st) : [];
  const held = useHeld(every);
  const want = filter.toLowerCase(),
    rows = held.rows.filter(
      r =>
        (!repo || r.repo === repo) &&
        (!want ||
          (r.title + ' ' + r.note + ' ' + r.repo + ' ' + r.branch + ' ' + r.agent + ' ' + r.id)
            .toLowerCase()
            .includes(want)),
    );
  const shown = groups
    .map(([g, name]) => [g, name, rows.filter(r => (r.shown || r.group) === g)])
    .map(([g, name, list]) => [g, name, list, g === 'done' && !all && !want ? list.slice(0, 30) : list])
    .filter(x => x[2].length);
  // Each group and row stands at a place of its own, and goes to another by a transform: nothing is laid out anew.
  let before = 0;
  const places = shown.map(([, , list, some]) => {
    const at = before;
    before += some.length + (some.length < list.length);
    return at;
  });
  const flatRows = shown.flatMap(x => x[3]),
    at = Math.max(
      0,
      flatRows.findIndex(r => r.key === on),
    ),
    chosen = flatRows[at];
  const move = by => {
    const r = flatRows[Math.max(0, Math.min(flatRows.length - 1, at + by))];
    if (r) {
      setOn(r.key);
      document.querySelector(`[data-id="${r.id}"]`)?.scrollIntoView({block: 'nearest'});
    }
  };
  const toggle = key => setMarked(m => (m.includes(key) ? m.filter(k => k !== key) : [...m, key]));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => chosen && go(chosen.to),
    x: () => chosen && toggle(chosen.key),
    r: () => chosen?.v && go('/session/' + chosen.id + '/changes'),
    t: () =>
      chosen?.n &&
      (clean(chosen.n)
        ? document.querySelector('.row.on .do button, .pane .fill')?.click()
        : go('/session/' + chosen.id + '/changes')),
  });
  if (!st)
    return html`
      <main id="main" tabindex="-1"><h1 class="sr">What needs you</h1></main>
    `;
  if (!every.length)
    return html`
      <main id="main" tabindex="-1"><${Begin} first /></main>
    `;
  const many = flatRows.filter(r => marked.includes(r.key)),
    takable = many.filter(r => r.n && clean(r.n)),
    repos = [...new Set(every.map(r => r.repo).filter(Boolean))].sort();
  return html`
    <${Composer} />
    <div class="side">
      <main id="main" tabindex="-1" aria-label="Inbox">
        <h1 class="sr">What needs you</h1>
        <div class="tools" role="search">
          <input
            class="in"
            type="search"
            aria-label="Filter"
            placeholder="Filter"
            value=${filter}
            onInput=${e => setFilter(e.target.value)}
            onKeyDown=${e => {
              if (e.key === 'Enter') e.target.blur(); // and leave the rows as they are
            }}
          />
          <select aria-label="Filter by repository" value=${repo} onChange=${e => setRepo(e.target.value)}>
            <option value="">All repositories</option>
            ${repos.map(r => html`
              <option key=${r} value=${r}>${base(r)}</option>
            `)}
          </select>
          ${many.length > 0 ? html`
            <span class="f end">
              <span class="m s">${many.length} chosen</span>
              ${takable.length > 0 && html`
                <${TakeAll} list=${takable} done=${() => setMarked([])}>Take ${takable.length}</${TakeAll}>
              `}
              <button type="button" class="btn q" onClick=${() => setMarked([])}>Clear</button>
            </span>
          ` : html`
            <span class="f end">
              ${held.fresh > 0 && html`
                <button
                  type="button"
                  class="btn q"
                  onClick=${() => {
                    held.show();
                    again(n => n + 1);
                  }}>
                  ${held.fresh} new
                </button>
              `}
              <span class="m s dk">${count(every.length, 'session')}</span>
            </span>
          `}
        </div>
        ${!shown.length && html`
          <${Empty} icon="inbox" head="Nothing is like that">
            No session has these words${repo ? ' in ' + base(repo) : ''}.
          </${Empty}>
        `}
        ${!every.some(r => r.n) && html`
          <p class="calm m f">
            <${Icon} of="ready" c="ok" />
            Nothing waits for you.
          </p>
        `}
        <div class="inbox" style=${{'--rows': before, '--heads': shown.length}}>
          ${shown.map(([g, name, list, some], at) => {
            const good = g === 'ready' ? list.filter(r => r.n && clean(r.n)) : [];
            return html`
              <section
                key=${g}
                id=${g}
                style=${{'--before': places[at], '--above': at, '--rows': some.length + (some.length < list.length)}}>
                <div class="group">
                  <h2>${name}</h2>
                  <span class="m">${list.length}</span>
                  ${good.length > 1 && html`
                    <${TakeAll} list=${good} done=${() => setMarked([])} c="q end">
                      Take ${good.length} clean
                    </${TakeAll}>
                  `}
                </div>
                <${Part}>
                  <${Rows}
                    list=${some}
                    on=${chosen?.key}
                    marked=${marked}
                    pick=${setOn}
                    mark=${toggle}
                    open=${(e, key) => {
                      if (innerWidth <= 1100) return;
                      e.preventDefault();
                      setOn(key);
                      requestAnimationFrame(() =>
                        requestAnimationFrame(() =>
                          document.querySelector('.pane textarea, .pane input, .pane .dock button')?.focus(),
                        ),
                      );
                    }}
                  />
                </${Part}>
                ${some.length < list.length && html`
                  <p class="more" style=${{'--n': some.length}}>
                    <button type="button" class="btn q" onClick=${() => setAll(true)}>
                      ${list.length - some.length} more
                    </button>
                  </p>
                `}
              </section>
            `;
          })}
        </div>
      </main>
      ${chosen && html`
        <${Part} key=${chosen.key}><${Pane} r=${chosen} done=${() => setOn('')} /></${Part}>
      `}
    </div>
  `;
}
