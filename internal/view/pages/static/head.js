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
  Oops,
  Part,
  Soon,
  Wrong,
  base,
  dollars,
  money,
  none,
  now,
  runOf,
  span,
  titleOf,
  tokens,
  used,
} from '/assets/app.js';
import {clean, needOf, Discard} from '/assets/need.js';

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

const gone = id => ({
  head: 'No session has this name',
  why: `It was thrown away, or its box is gone. Its work may be in the graveyard: \`cco box restore ${id}\``,
});

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
  if (e)
    return html`
      <main id="main" tabindex="-1">
        <h1 class="sr">Session ${id}</h1>
        <${Oops} e=${e} ...${e.status === 404 && gone(id)} />
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
    part = most ? spent.cost / most : l.run_tokens ? used(spent) / l.run_tokens : 0;
  const at = (path, name, k) => html`
    <a href=${'/session/' + id + path} aria-current=${tab === path ? 'page' : undefined}>
      ${name}
      ${k > 0 && html`<span class="s m">${k}</span>`}
    </a>
  `;
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
            <${Bar} at=${part} c="m w96" label=${'of ' + (most ? dollars(most) : tokens(l.run_tokens))} />
            <span class="m">${most ? dollars(most) : tokens(l.run_tokens)}</span>
          `}
        </span>
        <span class="f acts0">
          ${(s.question ? tab !== '' : live && s.terminal) && html`
            <a
              class="btn dk"
              href=${'/session/' + id}
              onClick=${ev => {
                const field = tab === '' && document.querySelector('.steer textarea');
                if (!field) return;
                ev.preventDefault();
                field.focus();
              }}>
              ${s.question ? 'Answer' : 'Message'}
            </a>
          `}
          ${n && clean(n) && tab !== '/changes' && html`
            <span class="dk">
              <${Act} path=${'/sessions/' + id + '/pull'} seen=${n.work} done=${done}>Take</${Act}>
            </span>
          `}
          ${live ? html`
            <${Act}
              path=${'/sessions/' + id + '/kill'}
              danger
              sure="Its agent ends, and what it did is kept."
              yes="Yes, end it"
              done=${done}>
              Stop
            </${Act}>
          ` : (
            !none(s.started) &&
            as.state !== 'pulled' &&
            tab !== '/changes' && html`
              <span class="dk"><${Discard} id=${id} seen=${s.seen} then=${done} /></span>
            `
          )}
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
      <${Agent} of=${s.agent} />
      <${Ran} s=${as} live=${live} />
      <b>${money(spent)}</b>
      ${part > 0 && html`
        <${Bar} at=${part} />
        <span class="m">${most ? dollars(most) : tokens(l.run_tokens)}</span>
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
