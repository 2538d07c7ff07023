// What was decided on this page, when, and from where: a sentence for each, and below it all that is written down.
import {
  html,
  state,
  useAsk,
  useState,
  useTitle,
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
} from '/assets/app.js';

const browser = who => {
  const m = who.match(/(Firefox|Edg|Chrome|Safari)\/(\d+)/);
  return m ? m[1].replace('Edg', 'Edge') + ' ' + m[2] : who.replace(/ (of this user )?\(.*/, '');
};
// short is what came of it as a row says it: what it was asked of stands beside.
const short = text => text.replace(/^(pull|phase|box|session) \S+: /, '').replace(/\s*\n\s*/g, '; ');
const quoted = text => '“' + (text || '').trim().split('\n')[0] + '”';
const goesOn = v => v.text || (v.max_cost && dollars(v.max_cost)) || v.max_tokens;

// says is what was decided, as people say it, by what the log calls it. v is what was said with it.
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
  'cleanup': () => 'End and clean up',
  'start an engine': () => 'Start an engine',
  'allow': v => 'Allow ' + v.host,
  'verify': () => 'Attack the box',
  'start': () => 'Start the box',
  'stop': () => 'Stop the box',
  'stop everything': () => 'Stop everything',
  'limit': v => `Set ${v.name} to ${v.value}` + (v.was === undefined ? '' : `, from ${v.was}`),
  'code': () => 'Make a code to come in',
  'come in': () => 'Come in with a code',
  'forget': () => 'Forget all browsers',
  'take the keyboard': () => 'Take the keyboard',
};
const consent = v => (v.accept?.length ? ', consenting to ' + v.accept.join(', ') : '');
function sentence(d) {
  try {
    const say = says[d.what];
    if (say) return say(JSON.parse(d.decided || '{}'));
  } catch (e) {
    // What is very long was cut, and is no JSON.
  }
  return d.what[0].toUpperCase() + d.what.slice(1);
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
    const d = {...e, words: sentence(e)};
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
    [icon, hue] = runs ? ['run', 'm'] : ok ? ['done', 'ok'] : ['fail', 'bad'],
    result = runs ? 'no end is known' : d.result.replace(/^done(: )?/, '');
  return html`
    <details class="deed">
      <summary>
        <${Icon} of=${icon} c=${hue} label=${ok ? '' : 'refused'} />
        <span class="cut what">
          <bdi>${d.words}</bdi>
          ${name && html`<span class="m"> · <bdi>${name}</bdi></span>`}
        </span>
        <span class=${'s came ' + (ok ? 'cut m' : 'bad')}>
          ${short(result)}
        </span>
        <span class="m s cut dk">${browser(d.browser).replace(/^a program.*/, '')}</span>
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
    some = all.filter(d => !want || (d.words + known(d)[0] + d.on + d.result).toLowerCase().includes(want));
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
