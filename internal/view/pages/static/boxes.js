// Which boxes there are; of one, which layers hold, what left it and what was refused.
import {
  html,
  useAsk,
  useState,
  useEffect,
  useTitle,
  state,
  now,
  Act,
  Ago,
  Empty,
  Icon,
  Oops,
  Part,
  Soon,
  Wrong,
  count,
  day,
  money,
  runs,
} from '/assets/app.js';
import {Left, MayLeave, Refused} from '/assets/network.js';

// roundly says much memory in GB, and no number of a user that no list has.
const roundly = words =>
  words
    .replace(/\b(\d{4,}) MB/, (_, n) => Math.round(n / 1024) + ' GB')
    .replace(/uid \d{6,} on the host/, 'a user of its own');
const at = name => '/boxes/' + encodeURIComponent(name);

export function Boxes({id}) {
  const [again, setAgain] = useState(0),
    {v, e} = useAsk('/boxes', again + '.' + runs(state.value)),
    [kept, keep] = useState(null);
  useEffect(() => {
    if (v) keep(v);
  }, [v]);
  const list = v || kept,
    done = () => setAgain(n => n + 1),
    name = id || list?.[0]?.name;
  useTitle(id ? 'Box ' + id : 'Boxes');
  const stop = html`
    <${Act}
      path="/stop"
      danger
      quiet
      sure="Phases pause, agents end and keep their work, boxes stop."
      yes="Stop everything"
      done=${done}>
      Stop everything
    </${Act}>
  `;
  return html`
    <main id="main" tabindex="-1" class="page stack l">
      <h1 class="sr">Boxes</h1>
      <${Oops} e=${!list && e} />
      ${!list && !e && html`<${Soon} />`}
      ${list && !list.length && html`
        <${Empty} icon="box" head="No boxes yet">
          The first run makes one; so does <code>cco box create</code>.
        </${Empty}>
      `}
      ${list && list.length > 1 && html`
        <ul class="three">
          ${list.map(b => html`
            <li key=${b.name}>
              <a
                class="bx"
                data-box=${b.name}
                href=${'/box/' + encodeURIComponent(b.name)}
                aria-current=${b.name === name ? 'true' : undefined}>
                <${Icon} of="box" c="m" />
                <b class="cut">${b.name}</b>
                <span class="m s cut">${b.backend}</span>
                <span class="m s n end">${b.live ? b.live + ' at work' : b.state}</span>
              </a>
            </li>
          `)}
        </ul>
      `}
      ${name && html`
        <${Part} key=${name}>
          <${Box} name=${name} b=${list?.find(x => x.name === name)} done=${done} />
        </${Part}>
      `}
      ${list && list.length > 0 && html`
        <section class="f wrap card0">
          <span class="grow">
            <b class="blk">All boxes</b>
            <span class="m s">Phases pause, agents end and keep their work, boxes stop.</span>
          </span>
          ${stop}
        </section>
      `}
    </main>
  `;
}

function Box({name, b, done}) {
  const [again, setAgain] = useState(0),
    {v, e} = useAsk(at(name), again + '.' + Math.floor(now.value / 5000)),
    [kept, keep] = useState(null);
  useEffect(() => {
    if (v) keep(v);
  }, [v]);
  const s = v || kept,
    to = at(name),
    then = () => {
      setAgain(n => n + 1);
      done();
    };
  if (!s) return e ? html`<${Oops} e=${e} />` : html`<${Soon} />`;
  const hold = s.layers.filter(l => l.active).length,
    fails = s.layers.filter(l => !l.active).map(l => l.name),
    fail = fails.length > 0 && `; ${fails.join(' and ')} ${fails.length > 1 ? 'do' : 'does'} not`,
    all = s.layers.length,
    broken = s.verify ? s.verify.results.filter(x => !x.held && x.promised) : [],
    good = hold === all && !broken.length,
    is = b || s.box;
  return html`
    <${Wrong} of=${s.wrong} />
    <section class="f wrap hero">
      <${Icon} of=${good ? 'safe' : 'held'} c=${'xl ' + (good ? 'ok' : 'warn')} />
      <div class="grow">
        <h2 class="fig any">
          <bdi>${name}</bdi>: ${hold} of ${all} layers hold${fail}
        </h2>
        <p class="m s">
          ${s.verify ? html`
            Attacked <${Ago} at=${s.verify.at} /> ago: ${s.verify.results.filter(x => x.held).length} of${' '}
            ${s.verify.results.length} attacks held.
          ` : (
            'It was never attacked.'
          )}
        </p>
        ${broken.map(x => html`
          <p class="bad s">${x.probe}: ${x.what}: ${x.detail}</p>
        `)}
        ${s.box.detail && html`<p class="m s">${s.box.detail}</p>`}
      </div>
      <span class="f g wrap">
        <${Act} path=${to + '/verify'} done=${then}>${s.verify ? 'Attack again' : 'Attack it'}</${Act}>
        ${is.state === 'running' ? html`
          <${Act}
            path=${to + '/stop'}
            sure=${`The agents in ${name} end and keep their work, and it stops.`}
            danger
            quiet
            yes="Yes, stop it"
            done=${then}>
            Stop box
          </${Act}>
        ` : html`
          <${Act} path=${to + '/start'} done=${then}>Start box</${Act}>
        `}
      </span>
    </section>
    <dl class="facts">
      ${[
        ['State', is.live ? is.live + ' at work' : is.state],
        ['Backend', s.box.backend],
        ['Network', s.box.network],
        ['Sessions', s.box.total],
        ['Spent', money(s.box.spent) || '—'],
      ].map(([k, v]) => html`
        <div key=${k}>
          <dt class="s">${k}</dt>
          <dd class="cut">${v}</dd>
        </div>
      `)}
    </dl>
    <div class="side b">
      <div class="stack l">
        <${Left} list=${s.left} />
        <${Refused} list=${s.refused} box=${name} caution=${s.caution} done=${then} />
        <${MayLeave} list=${s.allowed} />
        <section class="card">
          <h2 class="f">
            What the guard denied
            <span class="m">${s.denials.length ? count(s.denials.length, 'time') : ''}</span>
          </h2>
          ${s.denials.length ? html`
            <table class="tab fx">
              <tbody>
                ${s.denials.slice(0, 50).map((d, i) => html`
                  <tr key=${i}>
                    <td class="w2 m s dk">${day(d.time)}</td>
                    <td class="w2"><a class="mono acc" href=${'/session/' + d.session}>${d.session}</a></td>
                    <td class="w2">
                      <span class=${'cut blk ' + (d.kind === 'denial' ? 'warn' : '')}>${d.kind}</span>
                    </td>
                    <td>
                      <span class="cut blk" title=${d.reason}>
                        ${[d.rule, d.tool_name].filter(Boolean).join(' ')}${' '}
                        <span class="m">${d.reason}</span>
                      </span>
                    </td>
                  </tr>
                `)}
              </tbody>
            </table>
          ` : html`
            <p class="m pad">Nothing.</p>
          `}
        </section>
      </div>
      <div class="stack l lead">
        <aside aria-label="Layers">
          <details class="card" open=${innerWidth > 760 || !good}>
            <summary class="f">
              <${Icon} of="right" c="fold" />
              <h2>Layers</h2>
              <span class="m s">${hold} of ${all} hold</span>
            </summary>
            <ul class="sect lays">
              ${s.layers.map(l => html`
                <li key=${l.name}>
                  <${Icon}
                    of=${l.active ? 'done' : 'held'}
                    c=${l.active ? 'ok' : 'warn'}
                    label=${l.active ? 'holds' : 'does not hold'}
                  />
                  <span class="any">
                    <b>${l.name}</b>
                    <span class="m s blk">${roundly(l.detail)}</span>
                    ${!l.active && l.mend && html`<span class="s blk">What mends it: ${l.mend}</span>`}
                  </span>
                </li>
              `)}
            </ul>
          </details>
        </aside>
      </div>
    </div>
  `;
}
