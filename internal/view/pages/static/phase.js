// A phase: its steps, what it asks, its findings and who said them, its pull request, its time.
import {
  html,
  useAsk,
  useRef,
  useState,
  useTitle,
  state,
  flat,
  Words,
  Act,
  Bar,
  Danger,
  Empty,
  GoOn,
  Icon,
  Lazy,
  Oops,
  Part,
  Path,
  Soon,
  Wrong,
  Ago,
  base,
  count,
  dollars,
  span,
  clock,
  money,
  short,
  wants,
} from '/assets/app.js';
import {Field} from '/assets/need.js';

const signs = {ended: ['', 'done'], paused: ['warn', 'limit'], asks: ['warn', 'ask'], trouble: ['warn', 'fail']};

const ms = b => new Date(b).getTime();
// stepsOf makes a row of steps of the bars: what was done, by role, and what is left.
const roles = [
  [/^(nam|prepar|start|plan)/i, 'Plan', 'gry'],
  [/review/i, 'Review', 'vio'],
  [/fix|answer/i, 'Fix', 'teal'],
  [/merg/i, 'Merge', 'ok'],
  [/check|watch|ready/i, 'Checks', 'org'],
  [/work|publish|compar/i, 'Request', 'acc'],
];
const roleOf = name => roles.find(([re]) => re.test(name)) || [null, name, 'gry'];
function stepsOf(p) {
  const out = [];
  for (const b of p.bars.filter(b => !['crash', 'engine', 'stopped', 'end', 'pause'].includes(b.kind))) {
    const [, role, hue] =
        b.kind === 'ask'
          ? [0, 'Asks', 'warn']
          : b.kind === 'trouble'
            ? [0, 'Trouble', 'bad']
            : roleOf(b.name),
      last = out.at(-1);
    if (last && last.role === role && (last.round === b.round || role === 'Checks')) {
      last.ms += ms(b.to) - ms(b.from);
      last.bars.push(b);
    } else out.push({role, hue, round: b.round, ms: ms(b.to) - ms(b.from), bars: [b]});
  }
  let reviews = 0;
  const steps = out
    .map(s => ({...s, name: s.role === 'Review' ? 'Review ' + ++reviews : s.role, says: span(s.ms)}))
    .slice(-7);
  const now = p.ended ? null : steps.at(-1);
  if (now) now.now = true;
  for (const [name, hue] of [
    ['Request', 'acc'],
    ['Checks', 'org'],
    ['Merge', 'ok'],
  ])
    if (!p.ended && (steps.length < 7 || name === 'Merge') && !steps.some(s => s.role === name))
      steps.push({name, hue, todo: true, says: 'to come'});
  if (p.ended) steps.push({name: 'End', hue: p.end === 'merged' ? 'ok' : 'gry', says: p.end || 'ended'});
  return steps.slice(-8);
}
const Steps = ({p}) => {
  const steps = stepsOf(p),
    at = steps.findLast(s => !s.todo);
  return html`
  <ol class="steps" aria-label="Steps">
    ${steps.map((s, i) => html`
      <li
        key=${i}
        title=${s.name + ': ' + s.says}
        class=${s.todo ? 'todo' : s.hue}
        aria-current=${s.now ? 'step' : undefined}>
        <span class="f">
          <${Icon} of=${s.todo ? 'gone' : s.now ? (s.role === 'Asks' ? 'ask' : 'run') : 'done'} />
          <b class="cut">${s.name}</b>
        </span>
        <span class="m s cut blk">${s.says}</span>
      </li>
    `)}
  </ol>
  ${at && html`
    <p class="ph f step0" aria-hidden="true">
      <b>${at.name}</b>
      <span class="m s">${at.says}</span>
      <span class="m s end">step ${steps.indexOf(at) + 1} of ${steps.length}</span>
    </p>
  `}
`;
};

const kinds = {
  work: 'acc',
  wait: 'gry',
  trouble: 'bad',
  ask: 'warn',
  pause: 'gry',
  crash: 'bad',
  stopped: 'gry',
  engine: 'vio',
  end: 'ok',
};
const nameOf = b => (b.kind === 'work' ? roleOf(b.name)[1] : b.kind[0].toUpperCase() + b.kind.slice(1));
function Timeline({bars}) {
  if (!bars.length) return html`<p class="m pad">Nothing has happened yet.</p>`;
  const from = ms(bars[0].from),
    to = Math.max(from + 1, ...bars.map(b => ms(b.to))),
    rows = [...new Set(bars.map(b => b.round))].slice(-12),
    hue = b => (b.kind === 'work' ? roleOf(b.name)[2] : kinds[b.kind] || 'gry'),
    at = v => ((v - from) / (to - from)) * 100,
    wide = b => Math.max(0.5, at(ms(b.to)) - at(ms(b.from)) - 0.3);
  return html`
    <div class="tl pad">
      ${rows.map(r => html`
        <span key=${r} class="s">${r ? 'Round ' + r : 'Start'}</span>
        <svg role="img" aria-label=${'Round ' + r}>
          ${bars
            .filter(b => b.round === r)
            .map((b, i) => html`
              <svg
                key=${i}
                class=${'seg ' + hue(b) + ' ' + b.kind}
                x=${at(ms(b.from)) + '%'}
                width=${wide(b) + '%'}>
                <rect width="100%" height="24" rx="3"><title>${b.name}: ${span(ms(b.to) - ms(b.from))}</title></rect>
                ${wide(b) > 7 && html`<text x="6" y="16">${nameOf(b)}</text>`}
              </svg>
            `)}
        </svg>
        <span class="n m s">
          ${span(bars.filter(b => b.round === r).reduce((n, b) => n + ms(b.to) - ms(b.from), 0))}
        </span>
      `)}
    </div>
    <details class="known">
      <summary class="f m">
        <${Icon} of="right" c="fold" />
        As a list
        <span class="end f s leg dk">
          ${[...new Map(bars.map(b => [nameOf(b), hue(b)]))].map(([name, hue]) => html`
            <span class="f g1" key=${name}><span class=${'dot ' + hue}></span>${name}</span>
          `)}
        </span>
      </summary>
      <ol class="sect bars">
        ${bars.map((b, i) => html`
          <li key=${i} class="f">
            <span class=${'dot ' + hue(b)}></span>
            <time class="m s">${clock(b.from)}</time>
            <b class="cut">${b.name[0].toUpperCase() + b.name.slice(1)}</b>
            <span class="m s n end">${b.kind === 'work' ? '' : b.kind + ', '}${span(ms(b.to) - ms(b.from))}</span>
          </li>
        `)}
      </ol>
    </details>
  `;
}

const trusts = {
  you: 'you',
  named: 'named by you',
  accepted: 'a stranger, accepted',
  writer: 'may write',
  reviewer: 'a model',
  check: 'a check',
  cco: 'cco',
};
const order = {open: 0, answered: 1, fixed: 2, declined: 3},
  severe = {critical: 0, high: 1, major: 1, medium: 2, minor: 3, low: 3};
const dangerOf = s =>
  /crit|high|major|block/i.test(s || '') ? 'high' : /med/i.test(s || '') ? 'medium' : 'low';
function Findings({list}) {
  const [on, setOn] = useState(''),
    says = f => f.domain || f.who,
    many = new Set(list.map(says)).size > 1, // who said it is a column where that differs
    columns = innerWidth < 761 ? 3 : many ? 6 : 5; // those that are seen
  const sorted = [...list].sort(
    (a, b) =>
      (order[a.state] ?? 1) - (order[b.state] ?? 1) ||
      (severe[(a.severity || '').toLowerCase()] ?? 4) - (severe[(b.severity || '').toLowerCase()] ?? 4) ||
      a.round - b.round,
  );
  return html`
    <table class="tab fx finding-table">
      <thead>
        <tr>
          <th class="w2">Danger</th>
          <th>Finding</th>
          <th class="w4 dk">Where</th>
          ${many && html`<th class="w2 dk">Domain</th>`}
          <th class="n w1 dk">Round</th>
          <th class="w2">Verdict</th>
        </tr>
      </thead>
      <tbody>
        ${sorted.map(f => [
          html`<tr
            key=${f.id}
            class="finding"
            data-state=${f.state}
            onClick=${() => setOn(on === f.id ? '' : f.id)}>
            <td>
              ${f.severity
                ? html`<${Danger} of=${dangerOf(f.severity)} />`
                : html`<span class="chip">asked</span>`}
            </td>
            <td>
              <button type="button" class="cut blk open" aria-expanded=${on === f.id} title=${flat(f.words)}>
                ${flat(f.words)}
              </button>
            </td>
            <td class="dk">${f.path && html`<${Path} of=${f.path + (f.line ? ':' + f.line : '')} c="mono m" />`}</td>
            ${many && html`
              <td class="m dk">
                <span class="cut blk" title=${`${f.who} (${trusts[f.trust] || f.trust})`}>${says(f)}</span>
              </td>
            `}
            <td class="n dk">${f.round}</td>
            <td class=${f.state === 'open' ? 'warn' : f.state === 'declined' ? 'm' : 'ok'}>${f.state}</td>
          </tr>`,
          on === f.id && html`
            <tr key=${f.id + '.'}>
              <td colspan=${columns} class="under">
                <div class="note">
                  <p class="m s">
                    ${f.who}, ${trusts[f.trust] || f.trust}
                    ${f.reopened ? `, came back ${count(f.reopened, 'time')}` : ''}
                  </p>
                  <div class="words"><${Words} of=${f.words} /></div>
                  ${f.commit && html`
                    <p>
                      ${f.state === 'declined' ? 'Declined at' : 'Answered by'}${' '}
                      <code>${short(f.commit)}</code>
                    </p>
                  `}
                  ${f.reason && html`<p class="any">${f.reason}</p>`}
                  ${f.url && html`
                    <p>
                      <a class="acc any" href=${f.url} target="_blank" rel="noopener noreferrer">${f.url}</a>
                    </p>
                  `}
                </div>
              </td>
            </tr>
          `,
        ])}
      </tbody>
    </table>
  `;
}

export function Phase({id}) {
  const st = state.value,
    mark = st && st.phases.find(p => p.id === id),
    [again, setAgain] = useState(0);
  const {v: got, e} = useAsk('/phases/' + id, (mark ? mark.updated + mark.stage : '') + again),
    [kept, keep] = useState(null);
  const [text, setText] = useState(''),
    [more, setMore] = useState(''),
    field = useRef(null);
  if (got && kept !== got) keep(got);
  const p = got || kept;
  useTitle(p ? p.title : 'Phase ' + id);
  if (e?.status === 404)
    return html`
      <${Lazy} of="log" name="Gone" />
    `;
  if (e && !p)
    return html`
      <main id="main" tabindex="-1">
        <h1 class="sr">Phase ${id}</h1>
        <${Oops} e=${e} />
      </main>
    `;
  if (!p)
    return html`
      <main id="main" tabindex="-1">
        <h1 class="sr">Phase ${id}</h1>
        <${Soon} />
      </main>
    `;
  const to = '/phases/' + id,
    done = () => setAgain(n => n + 1),
    broke = p.end === 'spend limit',
    open = p.findings.filter(f => f.state === 'open').length,
    is = p.ended ? 'ended' : p.paused ? 'paused' : p.question ? 'asks' : p.stage || 'starting',
    [hue, sign] = signs[p.trouble && !p.ended ? 'trouble' : is] || ['acc', 'run'],
    asks = p.question && !p.ended,
    said = () => {
      setText('');
      done();
    };
  const sums = html`
    <b>${money(p)}</b>
    ${p.max_cost > 0 && html`
      <${Bar} at=${p.cost / p.max_cost} c="m w96" />
      <span class="m">of ${dollars(p.max_cost)}</span>
    `}
  `;
  const chip = html`
    <span class=${'chip state ' + hue} data-state=${p.ended ? 'ended' : p.paused ? 'paused' : p.stage}>
      <${Icon} of=${sign} />
      ${is[0].toUpperCase() + is.slice(1)}
    </span>
  `;
  const goOn = html`
    <${GoOn}
      of=${p}
      to=${to}
      fill=${!asks && !text.trim()}
      body=${() => ({more_cost: broke ? Number(more) || 0 : 0})}
      disabled=${broke && !(Number(more) > 0)}
      done=${done}
    />
  `;
  const answer = (words, button) => html`
    <${Field} words=${words} value=${text} set=${setText} rows=${1} at=${field} />
    <${Act}
      path=${to + '/fix'}
      seen=${p.seen}
      body=${() => (text.trim() ? {comment: text} : {})}
      fill=${asks || text.trim() !== ''}
      first=${asks && !text.trim() && (() => wants(field.current, 'Say your answer'))}
      done=${said}>
      ${button}
    </${Act}>
  `;
  const acts = html`
    <span class="f wrap g">
      ${broke && html`
        <label class="f">
          More dollars${' '}
          <input
            class="in num"
            inputmode="decimal"
            value=${more}
            onInput=${ev => setMore(ev.target.value)}
          />
        </label>
      `}
      ${(p.paused || p.question || p.ended) && goOn}
      ${p.trouble && !p.paused && !p.question && !p.ended && html`
        <${Act} path=${to + '/resume'} seen=${p.seen} fill done=${done}>Try again</${Act}>
      `}
      ${p.against.map(who => html`
        <${Act}
          key=${who}
          path=${to + '/resume'}
          seen=${p.seen}
          body=${{over: who}}
          sure=${`Merge although ${who} requested changes? That is said on the pull request.`}
          yes="Yes, merge"
          done=${done}>
          Merge anyway
        </${Act}>
      `)}
    </span>
  `;
  return html`
    <section class="head" aria-label="This phase">
      <div>
        <a class="btn q ic" href="/" aria-label="Back"><${Icon} of="left" /></a>
        <h1 class="cut"><bdi>${p.title}</bdi></h1>
        ${chip}
        <span class="m s cut dk shy">
          ${base(p.repo)} · ${p.branch} · round ${p.round} of ${p.max_rounds}
        </span>
        <span class="end f sums dk">${sums}</span>
        ${!p.ended && !p.paused && html`
          <${Act} path=${to + '/pause'} done=${done}>Pause</${Act}>
        `}
      </div>
    </section>
    <section class="bar2 ph f s" aria-label="Its sums">
      ${chip}
      <span class="m">Round ${p.round} of ${p.max_rounds}</span>
      ${sums}
    </section>
    <main id="main" tabindex="-1" class="page stack l">
      <${Wrong} of=${p.wrong} />
      <${Steps} p=${p} />
      ${(p.question || p.trouble || p.waits || p.end || p.paused || p.gate) && html`
        <section class=${'ask f wrap' + (p.trouble ? ' hot' : '')} aria-label="What it waits for">
          <div class=${'grow' + (asks ? ' all' : '')}>
            ${p.question && html`
              <p class="f">
                <${Icon} of="ask" c="warn" />
                <b>It asks</b>
              </p>
              <div class="words"><${Words} of=${p.question} /></div>
            `}
            ${p.trouble && html`
              <p>${p.ended ? 'It went wrong' : 'It waits out'}: ${p.trouble}</p>
            `}
            ${p.waits && html`<p>It waits for ${p.waits}.</p>`}
            ${p.end && html`<p>It ended: ${p.end}.</p>`}
            ${p.paused && html`<p>You have paused it.</p>`}
            ${p.gate && html`<p>Of the change you must know: ${p.gate}</p>`}
          </div>
          ${asks ? html`<div class="say f grow wrap">${answer('Your answer', 'Answer')}${acts}</div>` : acts}
        </section>
      `}
      <div class="side b">
        <div class="stack l">
          <section class="card">
            <h2 class="f">
              Findings
              <span class="m">${p.findings.length ? `${open} open of ${p.findings.length}` : ''}</span>
            </h2>
            ${p.findings.length ? html`
              <${Part}><${Findings} list=${p.findings} /></${Part}>
            ` : html`
              <p class="m pad">Nothing was asked for yet.</p>
            `}
            ${!asks && html`
              <div class="sect say f">
                ${answer('Say something to the fixer', text.trim() ? 'Fix this' : 'Look now')}
              </div>
            `}
          </section>
          <section class="card">
            <h2 class="f">
              Timeline
              <span class="m">
                ${p.bars.length ? clock(p.bars[0].from) + ' to ' + clock(p.bars.at(-1).to) : ''}
              </span>
            </h2>
            <${Part}><${Timeline} bars=${p.bars} /></${Part}>
          </section>
          <details class="card known">
            <summary class="f">
              <${Icon} of="right" c="fold" />
              <h2>Task</h2>
            </summary>
            <pre class="sect task" tabindex="0">${p.task}</pre>
          </details>
          <details class="card known">
            <summary class="f">
              <${Icon} of="right" c="fold" />
              <h2>Log</h2>
              <span class="m s">${count(p.log.length, 'line')}</span>
            </summary>
            <ol class="sect plog">
              ${p.log
                .slice()
                .reverse()
                .map((l, i) => html`
                  <li key=${p.log.length - i}>
                    <time class="m s">${clock(l.at)}</time>
                    <span class="any">${l.text}</span>
                  </li>
                `)}
            </ol>
          </details>
        </div>
        <aside class="stack l">
          <section>
            <h2>Pull request</h2>
            ${p.pr_url ? html`
              <p class="f">
                <${Icon} of="branch" c="ok" />
                <a
                  class="cut acc"
                  href=${p.pr_url}
                  target="_blank"
                  rel="noopener noreferrer"
                  title=${p.pr_url}>
                  #${p.pr_number}
                </a>
                <span class="m s end">${p.ended ? p.end : 'open'}</span>
              </p>
            ` : html`
              <p class="m">Not opened yet.</p>
            `}
            ${p.session && html`
              <p class="f">
                <${Icon} of="run" c="m" />
                <a class="acc" href=${'/session/' + p.session}>Its session</a>
              </p>
            `}
            ${p.worker && html`<p class="m s">on ${p.worker}</p>`}
          </section>
          ${p.verdicts.length > 0 && html`
            <section>
              <h2>Verdicts</h2>
              <ul class="list">
                ${p.verdicts.map((v, i) => html`
                  <li class="f" key=${i}>
                    <${Icon}
                      of=${/approv/i.test(v.verdict) ? 'ready' : v.verdict ? 'ask' : 'fail'}
                      c=${/approv/i.test(v.verdict) ? 'ok' : 'warn'}
                    />
                    <span class="cut">${v.domain}</span>
                    <span class="m s end cut" title=${v.failure}>
                      ${(v.verdict || 'failed').toLowerCase().replaceAll('_', ' ')}
                    </span>
                  </li>
                `)}
              </ul>
            </section>
          `}
          ${p.held.length > 0 && html`
            <section>
              <h2>From others</h2>
              <ul class="list">
                ${p.held.map(c => html`
                  <li class="said card0" key=${c.id}>
                    <p class="m s">${c.who} (not trusted)</p>
                    <div class="words"><${Words} of=${c.words} /></div>
                    <div class="acts">
                      <${Act}
                        path=${to + '/accept'}
                        seen=${c.seen}
                        body=${{comment: c.id}}
                        sure="What this stranger wants becomes work for the fixer."
                        yes="Yes, accept it"
                        done=${done}>
                        Accept as work
                      </${Act}>
                    </div>
                  </li>
                `)}
              </ul>
            </section>
          `}
          <section>
            <h2>End it</h2>
            <p class="m s">It ends, and its workspace is removed.</p>
            <div class="acts">
              <${Act}
                path=${to + '/cleanup'}
                danger
                sure="It ends, and its workspace is removed."
                yes="Yes, end it"
                done=${done}>
                Clean up
              </${Act}>
              ${p.ended && p.trouble && html`<${Act}
                quiet
                path=${to + '/cleanup'}
                body=${{force: true}}
                danger
                sure=${'Its agent ends, its work goes to the graveyard, ' +
                'and its branch is removed though it is not merged.'}
                yes="Force it"
                done=${done}>
                Clean by force
              </${Act}>`}
            </div>
          </section>
        </aside>
      </div>
    </main>
  `;
}
