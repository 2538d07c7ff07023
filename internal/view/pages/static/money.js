// What was spent, as bars and as tables, and the limits, which are changed in place.
import {
  html,
  useAsk,
  useState,
  useTitle,
  state,
  Act,
  Agent,
  Bar,
  Empty,
  Icon,
  Oops,
  Part,
  Soon,
  Wrong,
  base,
  dollars,
  hue,
  money,
  titleOf,
  tokens,
  used,
} from '/assets/app.js';

function Days({m}) {
  const days = m.days,
    cost = days.some(d => d.cost > 0),
    of = d => (cost ? d.cost : used(d)),
    top = Math.max(...days.map(of), cost ? 1 : 1000);
  const step =
      [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].find(
        s => top / s <= 4,
      ) || 1e10,
    high = Math.ceil(top / step) * step,
    H = 176,
    W = 100 / days.length,
    y = v => H - (v / high) * H;
  const agents = [...new Set(m.by.map(b => b.agent))],
    lines = [];
  for (let v = step; v <= high; v += step) lines.push(v);
  return html`
    <div class="f wrap">
      <h2>Last ${days.length} days</h2>
      <span class="m s">
        ${cost
          ? dollars(days.reduce((n, d) => n + d.cost, 0))
          : tokens(days.reduce((n, d) => n + used(d), 0)) + ' tokens'}
      </span>
      <span class="f end s m leg">
        ${agents.map(a => html`
          <${Agent} of=${a} key=${a} />
        `)}
      </span>
    </div>
    <div class="chart">
      <svg role="img" aria-label="What each day cost; the table below says the same">
        ${lines.map(v => html`
          <line key=${v} x1="0" x2="100%" y1=${y(v)} y2=${y(v)} />
        `)}
        ${days.map((d, i) => {
          let at = 0;
          const parts = agents.flatMap(a => m.by.filter(b => b.day === d.name && b.agent === a));
          return (parts.length ? parts : [{agent: '', ...d}]).map(b => {
            const v = of(b),
              h = (v / high) * H;
            at += h;
            return (
              v > 0 && html`
                <rect
                  key=${d.name + b.agent}
                  class=${hue(b.agent)}
                  x=${(i + 0.24) * W + '%'}
                  width=${W * 0.52 + '%'}
                  y=${H - at}
                  height=${Math.max(1, h - 1)}>
                  <title>${d.name} ${b.agent}: ${cost ? dollars(v) : tokens(v)}</title>
                </rect>
              `
            );
          });
        })}
      </svg>
      <div class="ys s m" aria-hidden="true">
        ${lines
          .slice()
          .reverse()
          .map(v => html`
            <span key=${v}>${cost ? '$' + v : tokens(v)}</span>
          `)}
      </div>
    </div>
    <ol class="days s m" aria-hidden="true">
      ${days.map((d, i) => html`
        <li key=${d.name} class=${i === days.length - 1 ? 'today' : ''}>${Number(d.name.slice(8))}</li>
      `)}
    </ol>
    <details class="known0">
      <summary class="f m s"><${Icon} of="right" c="fold" />As a table</summary>
      <table class="tab">
        <tbody>
          ${days
            .filter(d => of(d) > 0)
            .reverse()
            .map(d => html`
              <tr key=${d.name}>
                <td>${d.name}</td>
                <td class="n">${money(d)}</td>
                <td class="n m">${tokens(used(d))}</td>
              </tr>
            `)}
        </tbody>
      </table>
    </details>
  `;
}

const limits = [
  ['day_cost', 'Dollars a day', m => m.today.cost],
  ['day_tokens', 'Tokens a day', m => used(m.today)],
  ['run_cost', 'Dollars a run'],
  ['run_tokens', 'Tokens a run'],
];
function Limit({m, name, says, spent, done}) {
  const [value, setValue] = useState(null),
    tok = name.endsWith('tokens'),
    is = m.limits[name] || 0,
    show = v => (tok ? tokens(v).replace('.0', '') : dollars(v)),
    id = 'limit-' + name;
  return html`
    <div class="lim">
      <label for=${id}>${says}</label>
      <span class="m s n">${spent !== undefined && show(spent) + ' of'}</span>
      <input
        id=${id}
        class="in n"
        placeholder="none"
        value=${value ?? (is ? show(is) : '')}
        onInput=${e => setValue(e.target.value)}
      />
      ${value !== null && value.trim() ? html`
        <span class="set">
          <button type="button" class="btn q" onClick=${() => setValue(null)}>Cancel</button>
          <${Act}
            path="/limits"
            body=${() => ({name: 'limits.' + name, value: value.trim().replace(/^\$/, ''), was: is})}
            done=${() => {
              setValue(null);
              done();
            }}>
            Set it
          </${Act}>
        </span>
      ` : spent !== undefined && is > 0 && html`<${Bar} at=${spent / is} c=${spent > 0.8 * is ? 'warn' : 'm'} />`}
    </div>
  `;
}

function Sums({name, days, list, of = x => html`<span class="cut">${x}</span>`, c = () => 'm'}) {
  const top = Math.max(...list.map(x => x.cost), 0),
    most = Math.max(...list.map(used), 1);
  return (
    list.length > 0 && html`
      <section class="card">
        <h2 class="f">
          By ${name.toLowerCase()}
          <span class="m s end">Last ${days} days</span>
        </h2>
        <table class="tab fx">
          <thead>
            <tr>
              <th class="w3">${name}</th>
              <th class="dk"><span class="sr">Share</span></th>
              <th class="n w2">Tokens</th>
              <th class="n w2">Dollars</th>
            </tr>
          </thead>
          <tbody>
            ${list.slice(0, 12).map(x => html`
              <tr key=${x.name}>
                <td title=${x.name}>${of(x.name)}</td>
                <td class="dk"><${Bar} at=${top ? x.cost / top : used(x) / most} c=${c(x.name)} /></td>
                <td class="n m">${tokens(used(x))}</td>
                <td class="n">${dollars(x.cost)}</td>
              </tr>
            `)}
          </tbody>
        </table>
      </section>
    `
  );
}
const Dear = ({name, list, to, of}) =>
  list.length > 0 && html`
    <section class="card">
      <h2 class="f">${name}<span class="m s end">All time</span></h2>
      <table class="tab fx">
        <tbody>
          ${list.map(s => html`
            <tr key=${s.id}>
              <td><a class="cut blk" href=${'/' + to + '/' + s.id}><bdi>${titleOf(s)}</bdi></a></td>
              <td class="m dk w2">${of(s)}</td>
              <td class="n w2">${money(s.spent || s) || '—'}</td>
            </tr>
          `)}
        </tbody>
      </table>
    </section>
  `;

export function Money() {
  useTitle('Money');
  const st = state.value,
    [again, setAgain] = useState(0),
    {v, e} = useAsk('/money', (st ? used(st.today) : 0) + '.' + again),
    [kept, keep] = useState(null),
    m = v || kept;
  if (v && kept !== v) keep(v);
  if (!m)
    return html`
      <main id="main" tabindex="-1" class="page">
        <h1 class="sr">Money</h1>
        ${e ? html`<${Oops} e=${e} />` : html`<${Soon} />`}
      </main>
    `;
  const l = m.limits,
    done = () => setAgain(n => n + 1),
    any = m.days.some(d => d.cost > 0 || used(d) > 0);
  return html`
    <main id="main" tabindex="-1" class="page stack l">
      <h1 class="sr">Money</h1>
      <${Wrong} of=${m.wrong} />
      <div class="side b">
        <div class="stack l">
          <section class="today0">
            <h2 class="m">Today</h2>
            <p>
              <span class="fig">${dollars(m.today.cost)}</span>${' '}
              <span class="m">
                ${l.day_cost ? 'of ' + dollars(l.day_cost) + ', ' : ''}
                ${tokens(used(m.today))} tokens${m.today.estimate ? ', an estimate' : ''}
              </span>
            </p>
            ${l.day_cost > 0 && html`
              <${Bar}
                at=${m.today.cost / l.day_cost}
                c=${m.today.cost >= l.day_cost ? 'bad' : m.today.cost > 0.8 * l.day_cost ? 'warn' : 'acc'}
                label=${`${dollars(m.today.cost)} of ${dollars(l.day_cost)}`}
              />
            `}
          </section>
          ${any ? html`
            <section><${Part}><${Days} m=${m} /></${Part}></section>
          ` : html`
            <${Empty} icon="money" head="Nothing was spent yet">
              What agents cost stands here, by day, agent and repository.
            </${Empty}>
          `}
        </div>
        <aside class="card">
          <h2>Limits</h2>
          <div class="sect stack">
            ${limits.map(([name, says, spent]) => html`
              <${Limit}
                key=${name + (l[name] || 0)}
                m=${m}
                name=${name}
                says=${says}
                spent=${spent && spent(m)}
                done=${done}
              />
            `)}
            <p class="m s">
              A change holds from the next call on. A session that has reached its own limit waits in the
              inbox.
            </p>
          </div>
        </aside>
      </div>
      <div class="two">
        <${Sums} name="Agent" days=${m.days.length} list=${m.agents} of=${a => html`<${Agent} of=${a} />`} c=${hue} />
        <${Sums} name="Model" days=${m.days.length} list=${m.models.map(x => ({...x, name: x.name || 'not said'}))} />
        <${Sums}
          name="Repository"
          days=${m.days.length}
          list=${m.repos}
          of=${r => html`<span class="cut blk">${base(r)}</span>`}
        />
        <${Dear}
          name="Sessions"
          list=${m.sessions}
          to="session"
          of=${s => html`<span class="cut blk">${s.agent}</span>`}
        />
        <${Dear} name="Phases" list=${m.phases} to="phase" of=${p => html`<span class="cut blk">${p.stage}</span>`} />
      </div>
    </main>
  `;
}
