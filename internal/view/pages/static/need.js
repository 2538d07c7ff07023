// What gets something that waits further: an answer, a limit, consent, a way on. It stands beside a row and in
// a session.
import {html, state, useState, useRef, wants, Words, Choices, Act, GoOn, Danger, Icon} from '/assets/lib.js';
import {Path, count, subject} from '/assets/lib.js';

// kinds say of each kind of need which group of the inbox it is in, its sign, what it is called and what a row offers.
export const kinds = {
  engine: ['asks', 'fail', 'bad', 'nobody watches', 'Start'],
  idle: ['asks', 'ready', 'warn', 'has finished', 'Look'],
  answer: ['asks', 'ask', 'warn', 'asks', 'Answer'],
  accept: ['asks', 'ask', 'warn', 'a stranger says', 'Read'],
  limit: ['asks', 'limit', 'warn', 'reached a limit', 'Raise'],
  mend: ['asks', 'fail', 'bad', 'has trouble', 'Mend'],
  look: ['asks', 'fail', 'bad', 'failed', 'Look'],
  decide: ['held', 'held', 'bad', 'held by the gate', 'Review'],
  pull: ['ready', 'ready', 'ok', 'ready', 'Take'],
};
const ended = {
  pulled: ['done', 'm', 'taken'],
  done: ['done', 'm', 'done'],
  failed: ['fail', 'm', 'failed'],
  killed: ['gone', 'm', 'stopped'],
  paused: ['limit', 'm', 'paused'],
  waiting: ['ask', 'm', 'put off'],
  idle: ['ready', 'm', 'put off'],
};
// signOf is the sign of a session everywhere, its colour, and what it says: what it needs, or how it stands.
export function signOf(v, live) {
  const n = needOf(v.id);
  if (n) return (kinds[n.kind] || kinds.look).slice(1, 4);
  return live ? ['run', 'acc', 'running'] : ended[v.state] || ended.done;
}
export const clean = n => n.kind === 'pull' && n.work && !n.held?.length && !n.wrong;
export const toOf = n =>
  n.of === 'engine' ? '/' : n.of === 'phase' ? '/phase/' + subject(n) : '/session/' + n.id;
export const apiOf = n => (n.of === 'phase' ? '/phases/' : '/sessions/') + subject(n);
export const needOf = id => state.value && state.value.needs.find(n => n.id === id);

export const Field = ({words, value, set, rows = 3, at}) => html`
  <label class="blk">
    <span class="sr">${words}</span>
    <textarea
      ref=${at}
      rows=${rows}
      placeholder=${words}
      value=${value}
      onInput=${e => set(e.target.value)}></textarea>
  </label>
`;
export const Findings = ({of}) => html`
  <ul class="finds">
    ${of.map(g =>
      g.findings.slice(0, 3).map((f, i) => {
        const [where, ...rest] = f.split('\n')[0].split(': ');
        return html`
          <li key=${g.kind + i}>
            ${i ? html`<span></span>` : html`<${Danger} of=${g.response === 'refuse' ? 'high' : g.danger} />`}
            <span class="grow">
              ${!i && html`<b>${g.says}</b>`}
              ${rest.length > 0 && html`<span class="mono m blk cut" title=${where}>${where}</span>`}
              <span class="m blk any">${rest.length ? rest.join(': ') : where}</span>
            </span>
          </li>
        `;
      }),
    )}
  </ul>
`;

const review = n =>
  n.held?.length
    ? 'Review ' +
      count(
        n.held.reduce((k, g) => k + g.count, 0),
        'finding',
      )
    : 'Look at it';
// nextOf is what a session waits for, as one button names it, and the part of it where that is done.
export function nextOf(s, n, live) {
  if (s.question) return ['Answer', ''];
  if (n?.kind === 'limit') return ['Raise limit', ''];
  if (live) return s.terminal ? ['Message', ''] : null;
  if (!n) return null;
  return [clean(n) ? 'Take' : review(n), '/changes'];
}

// Answer is what a person says to a need. It is drawn anew with each question, so that nothing typed for one goes to
// another.
export function Answer({n, then}) {
  const [text, setText] = useState(''),
    [limit, setLimit] = useState(''),
    field = useRef(null);
  const to = apiOf(n),
    first = !text.trim() && (() => wants(field.current, 'Say your answer'));
  switch (n.kind) {
    case 'answer':
      if (n.of === 'phase')
        return html`
          <${Field} words="Your answer" value=${text} set=${setText} at=${field} />
          <div class="acts">
            <${GoOn} of=${n} to=${to} />
            <${Act}
              path=${to + '/fix'}
              seen=${n.seen}
              body=${() => ({comment: text})}
              fill
              first=${first}
              done=${() => setText('')}>
              Answer
            </${Act}>
          </div>
        `;
      return html`
        <${Choices} of=${n.words} pick=${setText} />
        <${Field} words="Your answer" value=${text} set=${setText} at=${field} />
        <div class="acts">
          <${Act}
            path=${to + '/answer'}
            seen=${n.seen}
            body=${() => ({text})}
            fill
            first=${first}
            done=${() => setText('')}>
            Answer
          </${Act}>
        </div>
      `;
    case 'limit': {
      const today = n.cause.startsWith('limits.day'),
        tok = n.cause.endsWith('tokens');
      return html`
        <div class="acts">
          ${!today && html`
            <label class="f">
              ${tok ? 'Tokens of the next run' : 'Dollars of the next run'}${' '}
              <input
                class="in num"
                inputmode="decimal"
                ref=${field}
                value=${limit}
                onInput=${e => setLimit(e.target.value)}
              />
            </label>
          `}
          <${Act}
            path=${to + '/continue'}
            seen=${n.seen}
            fill
            body=${() => (tok ? {max_tokens: Number(limit) || 0} : {max_cost: Number(limit) || 0})}
            first=${!today && !(Number(limit) > 0) && (() => wants(field.current, 'Say how much'))}>
            ${today ? 'Go on' : 'Raise it'}
          </${Act}>
          ${today && html`
            <a class="btn" href="/money">Limits</a>
          `}
        </div>
      `;
    }
    case 'idle':
      return html`
        <div class="acts">
          <${Act}
            path=${to + '/kill'}
            seen=${n.seen}
            fill
            sure="Its agent ends, and what it did is kept."
            yes="Yes, end it">
            End it
          </${Act}>
          <a class="btn" href=${'/session/' + n.id + '/terminal'}>Terminal</a>
        </div>
      `;
    case 'mend':
      return html`
        <div class="acts"><${Act} path=${to + '/resume'} seen=${n.seen} fill>Try again</${Act}></div>
      `;
    case 'accept':
      return html`
        <div class="acts">
          <${Act}
            path=${to + '/accept'}
            seen=${n.seen}
            body=${{comment: n.id}}
            fill
            sure="What this stranger wants becomes work for the fixer."
            yes="Yes, accept it">
            Accept as work
          </${Act}>
        </div>
      `;
    case 'engine':
      return html`
        <div class="acts"><${Act} path="/phases/watch" fill>Start an engine</${Act}></div>
      `;
  }
  // decide, pull, look: what came back
  return html`
    <div class="acts">
      ${clean(n) ? html`
        <${Act} path=${to + '/pull'} seen=${n.work} fill done=${then}>Take</${Act}>
        <a class="btn" href=${'/session/' + n.id + '/changes'}>Look at it</a>
      ` : html`
        <a class="btn fill" href=${'/session/' + n.id + '/changes'}>${review(n)}</a>
      `}
      ${n.kind === 'look' && html`
        <${Act} path=${to + '/continue'} seen=${n.seen}>Try again</${Act}>
      `}
    </div>
  `;
}

export const Later = ({n, then}) =>
  n.of === 'engine' || n.kind === 'accept' ? null : html`
    <${Act} path=${'/sessions/' + n.id + '/later'} seen=${n.seen} done=${then}>Later</${Act}>
  `;
export const Discard = ({id, seen, then}) => html`
  <${Act}
    quiet
    path=${'/sessions/' + id + '/discard'}
    seen=${seen}
    danger
    done=${then}
    yes="Throw it away"
    sure=${`What this session made moves to the graveyard. “cco box restore ${id}” brings it back.`}>
    Throw away
  </${Act}>
`;
