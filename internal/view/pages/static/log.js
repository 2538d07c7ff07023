// What was decided on this page, when, and from where: a sentence for each, and below it all that is written down. And
// what stands where there is nothing: what was decided on that, and where to go on.
import {
  html,
  state,
  useAsk,
  useState,
  useTitle,
  Ago,
  Copy,
  Empty,
  Icon,
  Oops,
  Soon,
  base,
  clock,
  count,
  dollars,
  exact,
  titleOf,
  tokens,
} from '/assets/app.js';
import {signOf} from '/assets/need.js';

const browser = who => {
  const m = who.match(/(Firefox|Edg|Chrome|Safari)\/(\d+)/);
  return m ? m[1].replace('Edg', 'Edge') + ' ' + m[2] : who.replace(/ (of this user )?\(.*/, '');
};
// short is what came of it as a row says it: what it was asked of stands beside.
const short = text => text.replace(/^(pull|phase|box|session) \S+: /, '').split('\n')[0];
const quoted = text => '“' + (text || '').trim().split('\n')[0] + '”';
const goesOn = v => v.text || (v.max_cost && dollars(v.max_cost)) || v.max_tokens;

// signs are those of the log's words, where there is one that says more than that it was done.
const signs = {
  'pull': 'branch',
  'mark': 'file',
  'comment': 'file',
  'remove a comment': 'file',
  'send comments': 'file',
  'start a run': 'run',
  'continue': 'run',
  'resume': 'run',
  'start an engine': 'run',
  'pause': 'limit',
  'answer': 'ask',
  'throw away': 'no',
  'allow': 'safe',
  'verify': 'safe',
  'start': 'box',
  'stop': 'box',
  'stop everything': 'box',
  'limit': 'money',
};
// says is what was to be done, as people say it, by what the log calls it. v is what was said with it.
const says = {
  'answer': v => 'Answer ' + quoted(v.text),
  'continue': v => (goesOn(v) ? 'Go on with ' + (v.text ? quoted(v.text) : goesOn(v) + ' more') : 'Go on'),
  'say': v => 'Say ' + quoted(v.text),
  'start a run': v => `Start ${quoted(v.text)} in ${base(v.repo)} with ${(v.agents || []).join(', ')}`,
  'later': () => 'Put off',
  'throw away': () => 'Throw away',
  'mark': v => `Mark ${v.file} as ${v.on ? 'seen' : 'not seen'}`,
  'comment': v => `Comment ${quoted(v.text)} on ${v.file}` + (v.line ? ':' + v.line : ''),
  'remove a comment': () => 'Remove a comment',
  'send comments': v => 'Send ' + count((v.comments || []).length, 'comment'),
  'kill': () => 'Stop',
  'pull': v => 'Take ' + (v.only?.length ? v.only.join(', ') : 'the work') + consent(v),
  'pause': () => 'Pause',
  'resume': v => (v.take ? `Go on from ${v.take}` : 'Go on'),
  'fix': v => (v.comment ? 'Tell the fixer ' + quoted(v.comment) : 'Look for comments'),
  'accept': () => 'Accept a stranger’s comment as work',
  'cleanup': () => 'End it',
  'start an engine': () => 'Start an engine',
  'allow': v => 'Allow ' + v.host,
  'verify': () => 'Attack the box',
  'start': () => 'Start the box',
  'stop': () => 'Stop the box',
  'stop everything': () => 'Stop everything',
  'limit': v => `Set the ${limits[v.name] || v.name} to ${most(v, v.value)}` +
    (v.was === undefined ? '' : `, from ${most(v, v.was)}`),
  'code': () => 'Make a code to come in',
  'come in': () => 'Come in with a code',
  'forget': () => 'Forget all browsers',
  'take the keyboard': () => 'Take the keyboard',
};
const limits = {
  'limits.run_cost': 'run’s limit',
  'limits.day_cost': 'day’s limit',
  'limits.run_tokens': 'run’s tokens',
  'limits.day_tokens': 'day’s tokens',
};
// most is an amount in the unit of its limit, if it is one and not none.
const most = ({name}, n) =>
  !Number(n) ? n || 'none' : /_cost$/.test(name) ? dollars(Number(n)).replace(/\.00$/, '') : tokens(Number(n));
const consent = v => (v.accept?.length ? ', consenting to ' + v.accept.join(', ') : '');
// What was done is told as done, and what was refused as tried.
const past = {Come: 'Came', Forget: 'Forgot', Go: 'Went', Make: 'Made', Put: 'Put', Say: 'Said', Send: 'Sent', Set: 'Set'};
Object.assign(past, {Stop: 'Stopped', Take: 'Took', Tell: 'Told', Throw: 'Threw'});
const done = verb => past[verb] || verb.replace(/e?$/, 'ed');
function sentence(d) {
  let words = d.what[0].toUpperCase() + d.what.slice(1);
  try {
    if (says[d.what]) words = says[d.what](JSON.parse(d.decided || '{}'));
  } catch (e) {
    // What is very long was cut, and is no JSON.
  }
  if (d.result === 'asked') return words;
  return /^done/.test(d.result)
    ? words.replace(/^\w+/, done)
    : 'Tried to ' + words[0].toLowerCase() + words.slice(1);
}

// deedsOf makes one of what was asked and what came of it: two entries of one browser, the last first.
function deedsOf(entries) {
  const out = [],
    ends = new Map();
  for (const e of entries) {
    const of = [e.browser, e.what, e.on, e.decided].join('\n'),
      open = ends.get(of) || [];
    if (e.result === 'asked' && open.length) {
      open.pop().asked = e.at;
      continue;
    }
    const d = {...e, words: sentence(e), times: 1},
      next = out.at(-1);
    // The same again, just before, is told with it.
    if (next && next.words === d.words && next.on === d.on && next.result === d.result) {
      next.times++;
      if (e.result !== 'asked') ends.set(of, [next, ...open]);
      continue;
    }
    out.push(d);
    if (e.result !== 'asked') ends.set(of, [d, ...open]);
  }
  return out;
}

const dayOf = at => new Date(at).toLocaleDateString([], {weekday: 'long', day: 'numeric', month: 'long'});
function byDay(deeds) {
  const days = new Map(),
    names = new Map([
      [dayOf(Date.now() - 864e5), 'Yesterday'],
      [dayOf(Date.now()), 'Today'],
    ]);
  for (const d of deeds) {
    const day = names.get(dayOf(d.at)) || dayOf(d.at);
    days.set(day, [...(days.get(day) || []), d]);
  }
  return [...days];
}

function Deed({d, name, place}) {
  const runs = d.result === 'asked',
    ok = /^(asked|done)/.test(d.result),
    [icon, hue] = ok ? [signs[d.what] || 'done', 'm'] : ['fail', 'bad'],
    result = runs ? 'no end is known' : d.result.replace(/^done(: )?/, ''),
    // What a sentence says already is not said again.
    came = ok && /^(limit|allow|mark)$/.test(d.what) ? '' : short(result);
  return html`
    <details class="deed">
      <summary>
        <${Icon} of=${icon} c=${hue} label=${ok ? '' : 'refused'} />
        <span class="said0">
          <span class="cut what">
            <bdi>${d.words}</bdi>
            ${d.times > 1 && html`<span class="m"> · ${d.times} times</span>`}
          </span>
          <span class=${'m s cut on' + (ok ? '' : ' dk')}>
            <bdi>${name || browser(d.browser).replace(/^a program.*/, '')}</bdi>
          </span>
        </span>
        <span class=${'s came ' + (ok ? 'cut m dk' : 'bad')}>${came}</span>
        <time class="m s n" datetime=${d.at}>${clock(d.at)}</time>
      </summary>
      <dl class="kv">
        ${d.on && html`
          <dt>On</dt>
          <dd class="any">
            ${place ? html`<a class="acc" href=${place}>${name || d.on}</a>` : d.on}
            <span class="m mono">${name && name !== d.on ? ' ' + d.on : ''}</span>
          </dd>
        `}
        <dt>Came of it</dt>
        <dd class="any pre">${result || 'done'}</dd>
        <dt>When</dt>
        <dd>${d.asked && d.asked !== d.at ? exact(d.asked) + ', done ' : ''}${exact(d.at)}</dd>
        <dt>From</dt>
        <dd class="any m">${d.browser}</dd>
        ${d.decided && d.decided !== '{}' && html`
          <dt>Sent</dt>
          <dd><pre tabindex="0">${pretty(d.decided)}</pre></dd>
        `}
      </dl>
    </details>
  `;
}
function pretty(json) {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch (e) {
    return json;
  }
}

// Gone is what there is of a session that is not here, or of no page at all.
export function Gone({id}) {
  useTitle('Not found');
  const {v} = useAsk(id ? '/log' : '', 0),
    st = state.value,
    deeds = v ? deedsOf(v).filter(d => d.on === id && d.result !== 'asked') : [],
    thrown = deeds.find(d => d.what === 'throw away' && /^done/.test(d.result)),
    all = st ? [...st.live, ...st.recent] : [],
    first = st ? st.needs.map(n => all.find(s => s.id === n.id)).filter(Boolean) : [], // what waits for somebody
    lately = [...new Set([...first, ...all])].slice(0, 6),
    restore = 'cco box restore ' + id;
  return html`
    <main id="main" tabindex="-1" class="page mid stack l gone">
      <section>
        <h1 class="any">
          ${!id
            ? 'No page has this address'
            : thrown
              ? 'This session was thrown away'
              : `No session ${id}`}
        </h1>
        <p class="m">
          ${!id
            ? 'It may be cut short, or from another version of cco.'
            : thrown
              ? html`
                That was <${Ago} at=${thrown.at} long /> ago, on this page. Its work is in the graveyard, from where
                this brings it back:
              `
              : 'It was thrown away elsewhere, or its box is gone. If its work is in the graveyard, ' +
                'this brings it back:'}
        </p>
        ${id && html`
          <div class="cmd f">
            <code class="cut">${restore}</code>
            <${Copy} of=${restore} quiet />
          </div>
        `}
        <p class="acts"><a class="btn fill" href="/">Go to inbox</a></p>
      </section>
      ${deeds.length > 0 && html`
        <section>
          <h2>What was decided on it</h2>
          <div class="card log">
            ${deeds.slice(0, 5).map(d => html`
              <${Deed} key=${d.at + d.what} d=${d} name="" place="" />
            `)}
          </div>
        </section>
      `}
      ${lately.length > 0 && html`
        <section>
          <h2>Recent sessions</h2>
          <ul class="card late">
            ${lately.map(s => {
              const live = st.live.includes(s),
                [icon, hue, says] = signOf(s, live);
              return html`
                <li key=${s.id}>
                  <a href=${'/session/' + s.id}>
                    <${Icon} of=${icon} c=${hue} label=${says} />
                    <span class="cut"><bdi>${titleOf(s)}</bdi></span>
                    <span class="m s cut">${says[0].toUpperCase() + says.slice(1)}</span>
                    <span class="m s cut dk">${base(s.repo)} · ${s.branch}</span>
                    <span class="m s n"><${Ago} at=${live ? s.started : s.finished} /></span>
                  </a>
                </li>
              `;
            })}
          </ul>
        </section>
      `}
    </main>
  `;
}

export function Log() {
  useTitle('Log');
  const {v, e} = useAsk('/log', 0),
    [filter, setFilter] = useState(''),
    st = state.value;
  const of = id => st && [...st.live, ...st.recent].find(s => s.id === id),
    phase = id => st && st.phases.find(p => p.id === id);
  const known = d => {
    const s = of(d.on),
      p = phase(d.on);
    if (s) return [titleOf(s), '/session/' + d.on];
    if (p) return [p.title || d.on, '/phase/' + d.on];
    return /^(allow|verify|start|stop)$/.test(d.what) ? [d.on, '/box/' + encodeURIComponent(d.on)] : [d.on, ''];
  };
  const all = v ? deedsOf(v) : [],
    want = filter.toLowerCase(),
    // With what was sent: a setting is found by its name.
    said = d => d.words + known(d)[0] + d.on + d.result + (d.decided || ''),
    some = all.filter(d => !want || said(d).toLowerCase().includes(want));
  return html`
    <main id="main" tabindex="-1" class="page log">
      <div class="f gap">
        <h1 class="grow">Log</h1>
        ${all.length > 0 && html`
          <input
            class="in"
            type="search"
            aria-label="Filter"
            placeholder=${'Filter ' + count(all.length, 'entry').replace('entrys', 'entries')}
            value=${filter}
            onInput=${ev => setFilter(ev.target.value)}
          />
        `}
      </div>
      <${Oops} e=${e} />
      ${!v && !e && html`<${Soon} />`}
      ${v && !v.length && html`
        <${Empty} icon="log" head="Nothing yet">What is decided on this page stands here.</${Empty}>
      `}
      ${all.length > 0 && !some.length && html`
        <${Empty} icon="log" head="Nothing is like that">No entry has these words.</${Empty}>
      `}
      ${byDay(some).map(([day, deeds]) => html`
        <section class="card" key=${day}>
          <h2 class="group">
            ${day}
            <span class="m">${deeds.length}</span>
          </h2>
          ${deeds.map(d => html`
            <${Deed} key=${d.at + d.what + d.result} d=${d} name=${known(d)[0]} place=${known(d)[1]} />
          `)}
        </section>
      `)}
    </main>
  `;
}
