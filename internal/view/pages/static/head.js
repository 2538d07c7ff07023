// What stays at the top of a session: what it is, how it stands, what it costs, and the way to its parts.
import {
  html,
  state,
  useAsk,
  useEffect,
  useState,
  useTitle,
  Act,
  Agent,
  Bar,
  Icon,
  Lazy,
  Oops,
  Part,
  Plus,
  Soon,
  Wrong,
  base,
  day,
  dollars,
  exact,
  money,
  none,
  now,
  runOf,
  short,
  span,
  titleOf,
  tokens,
  used,
} from '/assets/app.js';
import {clean, needOf, nextOf, Discard} from '/assets/need.js';

const states = {
  running: ['acc', 'run', 'Running'],
  created: ['acc', 'run', 'Starting'],
  idle: ['warn', 'ready', 'At its prompt'],
  waiting: ['warn', 'ask', 'Asks'],
  paused: ['warn', 'limit', 'Paused'],
  done: ['ok', 'ready', 'Done'],
  failed: ['bad', 'fail', 'Failed'],
  killed: ['', 'gone', 'Stopped'],
  pulled: ['ok', 'done', 'Taken'],
};
export function State({of, held}) {
  const [c, icon, words] = held ? ['bad', 'held', 'Held'] : states[of] || ['', 'run', of];
  return html`
    <span class=${'chip state ' + c} data-state=${of}>
      <${Icon} of=${icon} />
      ${words}
    </span>
  `;
}

// Ran is how long a run took, or takes.
const Ran = ({s, live}) => {
  const end = live ? now.value : none(s.finished) ? 0 : new Date(s.finished);
  const ms = end - new Date(s.started);
  return none(s.started) || !end || ms < 1000 ? null : html`<span class="m">${span(ms)}</span>`;
};

// Details stand beside each part of a session.
export const Details = ({s, children}) => html`
  <aside class="dk stack l" aria-label="Details">
    ${children}
    <section>
      <h2>Details</h2>
      <dl class="kv">
        ${s.size && html`
          <dt>Files</dt>
          <dd>${s.size.files}, <${Plus} s=${s.size} /></dd>
        `}
        ${used(s.spent) > 0 && html`
          <dt>Tokens</dt>
          <dd>${tokens(used(s.spent))}</dd>
        `}
        ${s.model && html`
          <dt>Model</dt>
          <dd class="cut" title=${s.model}>${s.model}</dd>
        `}
        ${!none(s.started) && html`
          <dt>Started</dt>
          <dd class="cut" title=${exact(s.started)}>${day(s.started)}</dd>
        `}
        <dt>Box</dt>
        <dd class="cut"><a href=${'/box/' + encodeURIComponent(s.box)} class="acc">${s.box}</a></dd>
        ${s.tip && html`
          <dt>Taken at</dt>
          <dd class="mono">${short(s.tip)}</dd>
        `}
        <dt>Session</dt>
        <dd class="mono">${s.id}</dd>
      </dl>
    </section>
  </aside>
`;

// Frame has all parts of a session below one head. Its child is a function of the session, and of what reads it again.
export function Frame({id, tab, files, children}) {
  const st = state.value,
    [again, setAgain] = useState(0),
    mark = st && [...st.live, ...st.recent].find(v => v.id === id);
  const {v: s, e} = useAsk('/sessions/' + id, runOf(mark) + again);
  useTitle(s ? titleOf(s) : 'Session ' + id);
  useEffect(() => {
    import('/assets/changes.js').catch(() => {}); // the other parts are soon asked for
  }, []);
  if (e?.status === 404)
    return html`
      <${Lazy} of="log" name="Gone" id=${id} />
    `;
  if (e)
    return html`
      <main id="main" tabindex="-1">
        <h1 class="sr">Session ${id}</h1>
        <${Oops} e=${e} />
      </main>
    `;
  if (!s)
    return html`
      <main id="main" tabindex="-1">
        <h1 class="sr">Session ${id}</h1>
        <${Soon} />
      </main>
    `;
  const live = mark ? st.live.includes(mark) : s.live,
    as = mark || s,
    n = needOf(id),
    done = () => setAgain(k => k + 1),
    to = '/session/' + id,
    spent = as.spent,
    l = s.limits;
  const most = l.run_cost || 0,
    part = most ? spent.cost / most : l.run_tokens ? used(spent) / l.run_tokens : 0,
    limit = 'of ' + (most ? dollars(most) : tokens(l.run_tokens || 0)),
    full = part < 1 ? 'm' : 'warn';
  const at = (path, name, k) => html`
    <a href=${'/session/' + id + path} aria-current=${tab === path ? 'page' : undefined}>
      ${name}
      ${k > 0 && html`<span class="s m">${k}</span>`}
    </a>
  `;
  // What is done on the part that is shown has its button there; and there is one that is filled.
  const step = nextOf(s, n, live),
    next = step && (step[1] !== tab || step[0] === 'Message') ? step : null,
    fill = next && n && tab !== '/terminal' && !(tab === '' && live);
  const count = files ?? as.size?.files;
  return html`
    <section class="head" aria-label="This session">
      <div>
        <a class="btn q ic" href="/" aria-label="Back"><${Icon} of="left" /></a>
        <h1 class="cut"><bdi>${titleOf(s)}</bdi></h1>
        <${State} of=${as.state} held=${n && n.held?.length} />
        <span class="m s cut dk shy" title=${s.repo}>${base(s.repo)} · ${s.branch}</span>
        <span class="end f sums dk">
          <${Agent} of=${s.agent} />
          <${Ran} s=${as} live=${live} />
          <b>${money(spent)}</b>
          ${part > 0 && html`
            <${Bar} at=${part} c=${full + ' w96'} label=${limit} />
            <span class="m">${limit}</span>
          `}
        </span>
        <span class="f acts0">
          ${live ? html`
            <span class=${fill ? 'dk' : ''}>
              <${Act}
                path=${'/sessions/' + id + '/kill'}
                danger
                sure="Its agent ends, and what it did is kept."
                yes="Yes, end it"
                done=${done}>
                Stop
              </${Act}>
            </span>
          ` : (
            !none(s.started) &&
            as.state !== 'pulled' &&
            tab !== '/changes' && html`
              <span class="dk"><${Discard} id=${id} seen=${s.seen} then=${done} /></span>
            `
          )}
          ${next && (next[0] === 'Take' ? html`
            <${Act} path=${'/sessions/' + id + '/pull'} seen=${n.work} fill=${fill} done=${done}>Take</${Act}>
          ` : html`
            <a
              class=${'btn ' + (fill ? 'fill' : 'dk')}
              href=${'/session/' + id + next[1]}
              onClick=${ev => {
                const field = tab === '' && next[1] === '' && document.querySelector('.steer textarea');
                if (!field) return;
                ev.preventDefault();
                field.focus();
              }}>
              ${next[0]}
            </a>
          `)}
        </span>
      </div>
      <nav class="tabs" aria-label="Of this session">
        ${at('', 'Transcript')}
        ${at('/changes', 'Changes', count)}
        ${s.terminal && at('/terminal', 'Terminal')}
        ${at('/network', 'Network')}
        ${at('/plan', 'Plan')}
      </nav>
    </section>
    <section class="bar2 ph f s" aria-label="Its sums">
      <${State} of=${as.state} held=${n && n.held?.length} />
      <${Agent} of=${s.agent} />
      <${Ran} s=${as} live=${live} />
      <b>${money(spent)}</b>
      ${part > 0 && html`
        <${Bar} at=${part} c=${full} />
        <span class="m">${limit}</span>
      `}
    </section>
    <${Wrong} of=${s.wrong} />
    <${Part}>
      ${children(
        {
          ...s,
          state: as.state,
          spent,
          size: as.size,
          reason: as.reason,
          started: as.started,
          finished: as.finished,
          live,
          need: n,
        },
        done,
      )}
    </${Part}>
  `;
}
