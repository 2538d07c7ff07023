// What came back, as people review it: a tree of files, findings and comments under their lines, marks for what was
// seen. Only `pull` moves a branch.
import {
  html,
  act,
  told,
  useState,
  useEffect,
  useRef,
  useAsk,
  state,
  calm,
  Act,
  Danger,
  Empty,
  Icon,
  Oops,
  Part,
  Path,
  Plus,
  Soon,
  base,
  count,
  runOf,
  short,
} from '/assets/app.js';
import {useKeys} from '/assets/app.js';
import {Frame} from '/assets/head.js';
import {Lines} from '/assets/lines.js';
import {Field, Discard, Later} from '/assets/need.js';

// What was found in a file is gathered once.
const gathered = new WeakMap();
function foundIn(f) {
  if (!gathered.has(f)) gathered.set(f, [...f.found, ...f.hunks.flatMap(h => h.lines.flatMap(l => l.found || []))]);
  return gathered.get(f);
}
const worst = f => ['high', 'medium', 'low'].find(d => foundIn(f).some(x => x.danger === d));
const locks = ['go.sum', 'package-lock.json', 'yarn.lock', 'pnpm-lock.yaml', 'Cargo.lock', 'poetry.lock'];
const generated = f => locks.includes(base(f.path)) || /\.(min\.(js|css)|snap|pb\.go)$/.test(f.path);
const long = f => f.added + f.deleted > 400;

// Wanted is what somebody says who consents to all of a kind.
const Wanted = ({g}) =>
  g.count > 1 ? `I have read all ${g.count} of ${g.kind} and want them` : 'I have read it and want it';

// Found is what the gate says, with the consent that it needs in it.
function Found({f, g, took, take, left, leave}) {
  const asks = g && g.response !== 'tell' && take;
  return html`
    <div
      class=${'note found ' + (f.danger === 'high' ? 'bad' : f.danger === 'medium' ? 'warn' : '')}
      role="note">
      <p class="f">
        <${Danger} of=${f.danger} />
        <b class="grow any">${g && f.says !== g.says ? g.says : f.says}</b>
        <span class="m s">${f.kind}</span>
      </p>
      ${g && f.says !== g.says && html`<p class="any">${f.says}</p>`}
      ${asks && html`
        <p class="f wrap">
          <label class="f grow">
            <input type="checkbox" checked=${took} onChange=${e => take(f.kind, e.target.checked)} />
            <${Wanted} g=${g} />
          </label>
          ${!took && html`
            <button type="button" class="btn q" aria-pressed=${left} onClick=${() => leave(!left)}>
              ${left ? 'Left out' : 'Leave file out'}
            </button>
          `}
        </p>
      `}
    </div>
  `;
}

function Remark({c, gone}) {
  return html`
    <div class="note mine">
      <p class="f">
        <b>You</b>
        ${c.late && html`<span class="chip warn">the file has changed</span>`}
        <button type="button" class="btn q end" onClick=${() => gone(c.id)}>Remove</button>
      </p>
      <p class="any pre">${c.text}</p>
    </div>
  `;
}
function Write({save, cancel}) {
  const [text, setText] = useState(''),
    el = useRef(null);
  useEffect(() => {
    el.current.querySelector('textarea').focus();
  }, []);
  const go = () => text.trim() && save(text.trim());
  return html`
    <div
      class="note mine write"
      ref=${el}
      onKeyDown=${e => {
        if (e.key === 'Escape') cancel();
        if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) go();
      }}>
      <${Field} words="Comment on this line" value=${text} set=${setText} rows=${2} />
      <p class="f end2">
        <button type="button" class="btn q" onClick=${cancel}>Cancel</button>
        <button type="button" class="btn" disabled=${!text.trim()} onClick=${go}>Add comment</button>
      </p>
    </div>
  `;
}

// below is what stands under a line.
function Below({f, l, tools}) {
  return [
    ...(l.found || []).map((x, i) => html`
      <${Found} f=${x} key=${i} ...${tools.consent(f, x)} />
    `),
    ...tools.on(f, l).map(c => html`
      <${Remark} c=${c} gone=${tools.gone} key=${c.id} />
    `),
    tools.writes(f, l) && html`<${Write} save=${t => tools.save(f, l, t)} cancel=${() => tools.say(null)} />`,
  ];
}

function File({f, patch, both, whole, open, fold, seen, see, taken, take, tools}) {
  const n = foundIn(f),
    w = worst(f),
    worse = n.filter(x => x.danger === w).length,
    more = f.cut || n.some(x => x.kind === 'unseen');
  return html`
    <section class="file" id=${'f-' + f.path} aria-label=${f.path}>
      <header>
        <button
          type="button"
          class="btn q ic"
          aria-expanded=${open}
          aria-label=${(open ? 'Fold ' : 'Unfold ') + f.path}
          onClick=${fold}>
          <${Icon} of="right" c=${'fold' + (open ? ' open' : '')} />
        </button>
        <${Path} of=${f.path} c="mono" />
        ${n.length > 0 && html`<${Danger} of=${w} n=${worse > 1 ? worse : 0} />`}
        <span class="s n dk"><${Plus} s=${f} /></span>
        ${((f.kind !== 'changed' && f.kind) || f.mode) && html`
          <span class="m s dk cut">
            ${[f.kind !== 'changed' && f.kind, f.mode && 'mode ' + f.mode].filter(Boolean).join(', ')}
          </span>
        `}
        <span class="end f">
          ${see && f.mark && html`
            <label class="f s dk">
              <input type="checkbox" data-seen checked=${seen} onChange=${e => see(f, e.target.checked)} />
              Seen
            </label>
          `}
          ${take && html`
            <label class="f s">
              <input
                type="checkbox"
                data-take
                checked=${taken}
                onChange=${e => take(f.path, e.target.checked)}
              />
              Take
            </label>
          `}
        </span>
      </header>
      ${open && html`
        <div class="body">
          ${f.found.map((x, i) => html`
            <${Found} f=${x} key=${i} ...${tools.consent(f, x)} />
          `)}
          ${tools.file(f).map(c => html`
            <${Remark} c=${c} gone=${tools.gone} key=${c.id} />
          `)}
          ${f.binary && html`<p class="m pad">A binary file.</p>`}
          ${f.hunks.map((h, i) => html`
            <${Lines}
              path=${f.path}
              h=${h}
              both=${both}
              below=${l => tools.any(f, l) && html`<${Below} f=${f} l=${l} tools=${tools} />`}
              say=${tools.say && (l => tools.say(f, l))}
              key=${i}
            />
          `)}
          ${more && html`
            <p class="f pad">
              <button type="button" class="btn" onClick=${() => whole(f.path)}>Show more</button>
              <a class="btn q" href=${'/api/v1/sessions/' + patch(f.path)} target="_blank">As text</a>
            </p>
          `}
        </div>
      `}
    </section>
  `;
}

// treeOf puts files below their directories, in the order of the files; those with one child alone share a row.
function treeOf(files) {
  const root = new Map();
  for (const f of files) {
    let at = root;
    for (const d of f.path.split('/').slice(0, -1)) {
      if (!at.has(d + '/')) at.set(d + '/', new Map());
      at = at.get(d + '/');
    }
    at.set(base(f.path), f);
  }
  return root;
}
function Branches({of, seen, to, on}) {
  const all = [...of].map(([name, x]) => {
    while (x instanceof Map && x.size === 1 && [...x.values()][0] instanceof Map) {
      const [[n, y]] = x;
      name += n;
      x = y;
    }
    return [name, x];
  });
  const dot = f => {
    const w = worst(f);
    return (
      w &&
      w !== 'low' && html`
        <span class=${'dot ' + (w === 'high' ? 'bad' : 'warn')}><span class="sr">${w} danger</span></span>
      `
    );
  };
  return html`
    <ul>
      ${all.map(([name, f]) => f instanceof Map ? html`
        <li key=${name}>
          <b>
            <${Icon} of="dir" />
            <span class="cut" title=${name}>${name.slice(0, -1)}</span>
          </b>
          <${Branches} of=${f} seen=${seen} to=${to} on=${on} />
        </li>
      ` : html`
        <li key=${f.path}>
          <a
            href=${'#f-' + f.path}
            class=${seen.includes(f.path) ? 'm' : ''}
            aria-current=${on === f.path ? 'true' : undefined}
            onClick=${e => {
              e.preventDefault();
              to(f.path);
            }}>
            <${Icon} of=${seen.includes(f.path) ? 'done' : 'file'} c="m" />
            <span class="cut" title=${f.path}>${base(f.path)}</span>
            ${dot(f)}
            <span class="end s n"><${Plus} s=${f} /></span>
          </a>
        </li>
      `)}
    </ul>
  `;
}

export function Changes({id}) {
  const st = state.value,
    mark = st && [...st.live, ...st.recent].find(v => v.id === id);
  const [again, setAgain] = useState(0),
    [commit, setCommit] = useState(''),
    [only, setOnly] = useState('');
  const q = new URLSearchParams();
  if (commit) q.set('commit', commit);
  if (only) q.set('file', only);
  // What it does meanwhile is read anew: it went on, or another took it.
  const {v: c, e, late} = useAsk(`/sessions/${id}/changes?` + q, again + runOf(mark)),
    kept = useRef(null), // what was shown, while it is read anew
    busy = e && e.status === 409;
  useEffect(() => {
    // busy: another pull is under way
    const timer = (busy || (c && c.examining)) && setTimeout(() => setAgain(n => n + 1), 1000);
    return () => clearTimeout(timer);
  }, [c, e, late]);
  if (c) kept.current = c;
  const shown = kept.current,
    files = shown ? shown.files.length : undefined;
  return html`
    <${Frame} id=${id} tab="/changes" files=${files}>
      ${(s, done) =>
        e && !busy && !shown ? html`
          <main id="main" tabindex="-1"><${Oops} e=${e} /></main>
        ` : !shown ? html`
          <main id="main" tabindex="-1">
            <${Soon} />
            <p class="m pad s">
              ${busy
                ? 'It has to wait: ' + e.message
                : 'What it did is being unpacked in quarantine and examined.'}
            </p>
          </main>
        ` : !shown.commits.length && !shown.wip ? html`
          <main id="main" tabindex="-1">
            <${Empty} icon="file" head="It made no commits">
              ${s.live ? 'What it makes is here when it has ended.' : 'There is nothing to take.'}
            </${Empty}>
          </main>
        ` : html`
          <${Review}
            id=${id}
            s=${s}
            c=${shown}
            commit=${commit}
            setCommit=${x => {
              setOnly('');
              setCommit(x);
            }}
            only=${only}
            setOnly=${setOnly}
            reload=${() => {
              setAgain(n => n + 1);
              done();
            }}
          />
        `
      }
    </${Frame}>
  `;
}

function Review({id, s, c, commit, setCommit, only, setOnly, reload}) {
  const [both, setBoth] = useState(false),
    [took, setTook] = useState([]),
    [picks, setPicks] = useState({}), // what was said of a file: take it, or leave it out
    [folds, setFolds] = useState({}),
    [filter, setFilter] = useState(''),
    [writes, setWrites] = useState(null),
    [on, setOn] = useState(''),
    [text, setText] = useState(''),
    [here, setHere] = useState(-1),
    [seen, setSeen] = useState(c.marked),
    [mine, setMine] = useState(c.remarks);
  useEffect(() => {
    setSeen(c.marked);
    setMine(c.remarks);
  }, [c]);
  const to = '/sessions/' + id,
    partial = s.state !== 'done' && s.state !== 'pulled',
    by = Object.fromEntries(c.groups.map(g => [g.kind, g])),
    may = !c.pulled && !commit && !s.live;
  const asks = c.pulled ? [] : c.groups.filter(g => g.response !== 'tell'),
    has = (f, g) => foundIn(f).some(x => x.kind === g.kind),
    below = g => c.files.reduce((n, f) => n + foundIn(f).filter(x => x.kind === g.kind).length, 0) >= g.count,
    open1 = asks.filter(g => !took.includes(g.kind)), // without consent: their files are not taken by themselves
    taken = f => picks[f.path] ?? !open1.some(g => has(f, g)),
    decided = g => c.files.some(f => has(f, g)) && c.files.every(f => !has(f, g) || picks[f.path] === false),
    left = open1.filter(g => !decided(g)),
    findings = c.groups.reduce((n, g) => n + g.count, 0),
    refused = asks.filter(g => g.response === 'refuse' && took.includes(g.kind));
  const number = n => asks.filter(n).reduce((k, g) => k + g.count, 0),
    open = number(g => left.includes(g)),
    all = number(() => true),
    needs = all > 0 && all + ' to decide',
    know = findings > all && findings - all + ' to know';
  const list = c.files.filter(f => !filter || f.path.toLowerCase().includes(filter.toLowerCase())),
    chosen = c.files.filter(taken),
    some = chosen.length < c.files.length;
  const isOpen = f =>
    folds[f.path] ??
    (c.files.length === 1 ||
      !(seen.includes(f.path) || (long(f) && !worst(f)) || (generated(f) && !worst(f))));
  const consent = (kind, yes) => {
    setTook(t => (yes ? [...t, kind] : t.filter(k => k !== kind)));
    // What was said of its files before is said anew.
    setPicks(x =>
      Object.fromEntries(
        Object.entries(x).filter(([p]) => !c.files.some(f => f.path === p && has(f, {kind}))),
      ),
    );
  };
  const pick = (path, yes) => setPicks(x => ({...x, [path]: yes}));
  const note = async (path, body) => {
    try {
      await act(to + path, body);
      return true;
    } catch (e) {
      told.value = {bad: true, says: [e.message]};
      return false;
    }
  };
  const see = async (f, yes) => {
    setSeen(x => (yes ? [...x, f.path] : x.filter(p => p !== f.path)));
    setFolds(x => ({...x, [f.path]: !yes}));
    await note('/marks', {file: f.path, mark: f.mark, on: yes});
  };
  const same = (r, f, l) =>
    r.file === f.path && r.line === (l.op === '-' ? l.old : l.new) && Boolean(r.old) === (l.op === '-');
  const tools = {
    consent: (f, x) => ({
      g: by[x.kind],
      took: took.includes(x.kind),
      take: may && !c.examining && consent,
      left: picks[f.path] === false,
      leave: out => setPicks(({[f.path]: _, ...rest}) => (out ? {...rest, [f.path]: false} : rest)),
    }),
    any: (f, l) => l.found?.length > 0 || mine.some(r => same(r, f, l)) || tools.writes(f, l),
    on: (f, l) => mine.filter(r => same(r, f, l)),
    file: f =>
      mine.filter(
        r => r.file === f.path && (!r.line || !f.hunks.some(h => h.lines.some(l => same(r, f, l)))),
      ),
    writes: (f, l) =>
      writes && writes.f === f.path && writes.old === l.old && writes.new === l.new && writes.op === l.op,
    say: s.live ? null : (f, l) => setWrites(f && {f: f.path, old: l.old, new: l.new, op: l.op}),
    save: async (f, l, words) => {
      const r = {
        file: f.path,
        mark: f.mark,
        line: (l.op === '-' ? l.old : l.new) || 0,
        old: l.op === '-',
        code: l.text.slice(0, 300),
        text: words,
      };
      if (await note('/remarks', {id: '', at: new Date(0).toISOString(), ...r})) {
        setWrites(null);
        reload();
      }
    },
    gone: async one => {
      if (await note('/unsay', {comment: one})) {
        setMine(x => x.filter(r => r.id !== one));
        reload();
      }
    },
  };
  const jump = by => {
    const notes = [...document.querySelectorAll('.found')];
    if (!notes.length) return;
    const at = (here + by + notes.length) % notes.length;
    setHere(at);
    notes[at].scrollIntoView({block: 'center'});
    notes[at].querySelector('input')?.focus({preventScroll: true});
  };
  const toFile = p => {
    setOn(p);
    document.getElementById('f-' + p)?.scrollIntoView();
  };
  useKeys({
    n: () => jump(1),
    p: () => jump(-1),
    j: () => jump(1),
    k: () => jump(-1),
    r: () => jump(1),
    t: () => document.querySelector('.dock [data-act*="/pull"]')?.click(),
  });
  const patch = file => {
    const p = new URLSearchParams();
    if (commit) p.set('commit', commit);
    if (file) p.set('file', file);
    return id + '/patch?' + p;
  };
  const canTake = may && !only && !c.examining && !left.length && chosen.length > 0;
  const takeWords = some ? 'Take ' + count(chosen.length, 'file') : partial ? 'Take what is' : 'Take all';
  return html`
    <div class="review">
      <nav class="tree" aria-label="Files">
        <input
          class="in"
          type="search"
          aria-label="Filter files"
          placeholder=${'Filter ' + count(c.files.length, 'file')}
          value=${filter}
          onInput=${e => setFilter(e.target.value)}
        />
        <${Branches} of=${treeOf(list)} seen=${seen} to=${toFile} on=${on} />
      </nav>
      <main id="main" tabindex="-1" class="files">
        <h2 class="sr">What came back</h2>
        <div class="sum f wrap">
          <span class="m s">${count(c.commits.length, 'commit')}</span>
          <span class="s">${count(c.files.length, 'file')} <${Plus} s=${c} /></span>
          <span class="f end">
            <span class="m s dk">${seen.length} of ${c.files.length} seen</span>
            <select aria-label="Commit" value=${commit} onChange=${e => setCommit(e.target.value)}>
              <option value="">All commits</option>
              ${c.commits.map(k => html`
                <option key=${k.commit} value=${k.commit}>
                  ${short(k.commit)} ${k.subject.slice(0, 60)}
                </option>
              `)}
            </select>
            <select
              class="dk"
              aria-label="View"
              value=${both ? 'split' : ''}
              onChange=${e => setBoth(e.target.value === 'split')}>
              <option value="">Unified</option>
              <option value="split">Split</option>
            </select>
            ${only && html`
              <button type="button" class="btn q" onClick=${() => setOnly('')}>All files</button>
            `}
          </span>
        </div>
        <p role="status" class=${c.examining ? 'ask2' : 'sr'}>
          ${c.examining ? 'The gate is still looking at it: what you must know follows.' : ''}
        </p>
        ${c.notes.map(n => html`
          <p class="ask2">${n}</p>
        `)}
        ${s.live && html`<p class="ask2">It is at work again: this is what it had made before.</p>`}
        ${c.wip && html`
          <p class="m s gap">Something was left uncommitted, and comes to <code>refs/cco/${id}-wip</code>.</p>
        `}
        ${c.pulled && html`
          <p class="ask2 good">
            ${c.whole ? html`
              It is on your branch ${c.branch}.
            ` : html`
              It was taken, and all of it is at <code>refs/cco/${id}</code>. Branch ${c.branch} has not
              all of it: <code>git restore --source=refs/cco/${id} PATH</code> brings more.
            `}
          </p>
        `}
        ${c.groups.length > 0 && html`
          <details
            class="gate card"
            open=${asks.length > 0 || c.groups.some(g => !below(g))}>
            <summary class="f">
              <${Icon} of="right" c="fold" />
              <h2>What you must know</h2>
              <span class="m s cut">${[needs, know].filter(Boolean).join(', ')}</span>
            </summary>
            <ul>
              ${c.groups.map(g => html`
                <li key=${g.kind} class="f wrap">
                  <details class="grow" open=${!below(g)}>
                    <summary class="f">
                      <span class="pill"><${Danger} of=${g.danger} n=${g.count > 1 ? g.count : 0} /></span>
                      <b class="cut">${g.says}</b>
                      <span class="m s cut dk">${g.findings[0]}</span>
                      <${Icon} of="right" c="fold m end" />
                      ${g.response === 'refuse' && html`<span class="m s n dk">refused by your settings</span>`}
                    </summary>
                    <p class="m s">
                      ${g.kind}
                      ${g.response === 'tell'
                        ? ''
                        : g.response === 'ask'
                          ? ', needs consent'
                          : ', refused by your settings'}
                    </p>
                    <ul class="mono m">
                      ${g.findings.map((x, i) => html`
                        <li key=${i} class="any pre">${x}</li>
                      `)}
                      ${g.count > g.findings.length && html`<li>and ${g.count - g.findings.length} more</li>`}
                    </ul>
                  </details>
                  ${may && g.response !== 'tell' && html`
                    <label class="f">
                      <input
                        type="checkbox"
                        data-consent
                        checked=${took.includes(g.kind)}
                        onChange=${e => consent(g.kind, e.target.checked)}
                      />
                      <span><${Wanted} g=${g} /><span class="sr">: ${g.says}</span></span>
                    </label>
                  `}
                </li>
              `)}
            </ul>
          </details>
        `}
        ${c.cut && html`
          <p class="ask2">
            The change is too long to be shown here whole. Choose a commit, or${' '}
            <a href=${'/api/v1/sessions/' + patch('')} target="_blank">see it whole, as text</a>
            .
          </p>
        `}
        ${list.map(f => html`
          <${Part} key=${f.path}>
            <${File}
              f=${f}
              patch=${patch}
              both=${both}
              whole=${setOnly}
              open=${isOpen(f)}
              fold=${() => setFolds(x => ({...x, [f.path]: !isOpen(f)}))}
              seen=${seen.includes(f.path)}
              see=${see}
              taken=${taken(f)}
              take=${may && pick}
              tools=${tools}
            />
          </${Part}>
        `)}
        ${!s.live && !c.pulled && html`
          <p class="ph f end2">
            <${Discard} id=${id} seen=${s.seen} then=${reload} />
            ${s.need && html`<${Later} n=${s.need} then=${reload} />`}
          </p>
        `}
      </main>
    </div>
    <section class="dock stay lift" aria-label="What you decide">
      <span class="f">
        <b>
          ${c.pulled
            ? 'Taken'
            : c.examining
              ? 'Examining'
              : all > 0
                ? `${all - open} of ${all} decided`
                : know || 'Nothing was found'}
        </b>
        <span class="m dk">${all > 0 && know && !c.pulled && !c.examining && know}</span>
        ${findings > 0 && html`
          <span class="f dk">
            <button
              type="button"
              class="btn q ic"
              aria-label="The finding before"
              onClick=${() => jump(-1)}>
              <${Icon} of="up" />
            </button>
            <button type="button" class="btn q ic" aria-label="The next finding" onClick=${() => jump(1)}>
              <${Icon} of="down" />
            </button>
            <kbd>p</kbd>
            <kbd>n</kbd>
          </span>
        `}
      </span>
      <span class="f end g">
        ${!s.live && mine.length > 0 ? html`
          <label class="grow dk">
            <span class="sr">What else to say</span>
            <input
              class="in"
              placeholder="What else to say"
              value=${text}
              onInput=${e => setText(e.target.value)}
            />
          </label>
          <${Act}
            path=${to + '/send'}
            seen=${s.seen}
            body=${() => ({comments: mine.map(r => r.id), text})}
            done=${() => {
              setText('');
              reload();
            }}>
            Send ${count(mine.length, 'comment')}
          </${Act}>
        ` : (
          !s.live &&
          !c.pulled && html`
            <span class="dk f">
              <${Discard} id=${id} seen=${s.seen} then=${reload} />
              ${s.need && html`<${Later} n=${s.need} then=${reload} />`}
            </span>
          `
        )}
        ${!c.pulled && html`
          <${Act}
            path=${to + '/pull'}
            seen=${c.seen}
            fill=${!left.length}
            disabled=${!canTake}
            body=${() => ({accept: took, partial, only: some ? chosen.map(f => f.path) : []})}
            sure=${
              refused.length && !left.length
                ? `Your settings refuse ${refused.map(g => g.kind).join(', ')}. It is taken all the same.`
                : ''
            }
            danger=${refused.length > 0 && !left.length}
            yes="Take it anyway"
            done=${() => reload()}>
            ${takeWords}
          </${Act}>
        `}
        ${!c.pulled && left.length > 0 && html`
          <button type="button" class="btn fill" onClick=${() => jump(1)}>
            Review ${count(open, 'finding')}
          </button>
        `}
      </span>
    </section>
  `;
}
