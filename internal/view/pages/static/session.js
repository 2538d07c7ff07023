// One transcript for all agents, by turns: it joins late, follows, searches and filters. And the plan that was sent.
import {
  html,
  ask,
  stream,
  signal,
  useEffect,
  useRef,
  useState,
  Words,
  Choices,
  Copy,
  Act,
  Ago,
  Oops,
  Part,
  Icon,
  Empty,
  Agent,
  bytes,
  clock,
  count,
  money,
  heads,
  plainly,
  hue,
  none,
  span,
  titleOf,
  dollars,
  wants,
} from '/assets/app.js';
import {Frame, Details} from '/assets/head.js';
import {Field, Answer} from '/assets/need.js';

const PART = 200,
  MOST = 1500;
const shows = {
  all: () => true,
  words: i => ['words', 'prompt', 'question', 'line', 'turn', 'end'].includes(i.kind),
  tools: i => ['call', 'result', 'denied', 'refused'].includes(i.kind),
  refused: i => ['denied', 'refused', 'error'].includes(i.kind) || i.wrong,
};
const names = {all: 'Everything', words: 'Words', tools: 'Calls', refused: 'Denied and wrong'};

function first(text) {
  const l = (text || '').trim().split('\n')[0];
  return l.length > 160 ? l.slice(0, 160) + '…' : l;
}
// about is what a call is about: its command, or what is named in its input.
function about(i) {
  if (!i.input || i.input[0] !== '{') return first(i.input);
  try {
    const v = JSON.parse(i.input);
    return first(
      String(
        v.file_path ??
          v.path ??
          v.pattern ??
          v.query ??
          v.url ??
          v.description ??
          Object.values(v).find(x => typeof x === 'string') ??
          '',
      ),
    );
  } catch (e) {
    return first(i.input);
  }
}
const verbs = [
  ['read', /read|cat|view|open/i],
  ['search', /grep|glob|search|find|ls|list/i],
  ['edit', /edit|write|patch|create|multi/i],
  ['command', /bash|shell|exec|run|command/i],
];
const verbOf = tool => (verbs.find(([, re]) => re.test(tool)) || ['other'])[0];

// turnsOf makes turns of items, and in them runs of calls, each with its result.
function turnsOf(items) {
  const turns = [],
    results = new Map(),
    calls = new Set();
  for (const i of items) {
    if (i.kind === 'result' && i.call) results.set(i.call, i);
    if (i.kind === 'call' && i.call) calls.add(i.call);
  }
  let turn, run, model;
  const begin = i => {
    turn = {key: i.id, at: i.at, parts: [], spent: null};
    turns.push(turn);
    run = null;
  };
  const into = (kind, i) => {
    if (!run || run.kind !== kind) {
      run = {kind, key: i.id, list: []};
      turn.parts.push(run);
    }
    run.list.push(i);
  };
  for (const i of items) {
    const anew = ['start', 'prompt'].includes(i.kind) && turn?.parts.some(p => p.kind !== 'sys'),
      after = turn?.over && !(['step', 'end'].includes(i.kind) && !turn.ended); // what is kept of it belongs to it
    if (!turn || after || anew) begin(i);
    if (i.kind === 'end') turn.ended = true;
    switch (i.kind) {
      case 'call':
        into('calls', {...i, result: results.get(i.call)});
        break;
      case 'result':
        if (!i.call || !calls.has(i.call)) into('calls', {...i, alone: true});
        break;
      case 'thought':
        into('calls', i);
        break;
      case 'line':
        into('lines', i);
        break;
      case 'start': // with the same model again says nothing, and a script has none
        if (i.text !== model && i.text !== 'script') into('sys', i);
        model = i.text;
        break;
      case 'step':
      case 'retry':
      case 'refused':
        into('sys', i);
        break;
      case 'turn':
        turn.over = i;
        turn.spent = i.spent;
        turn.end = i.at;
        if (i.wrong) into('one', i);
        break;
      default:
        run = null;
        turn.parts.push({kind: 'one', key: i.id, list: [i]});
    }
    turn.last = i.at;
  }
  return turns;
}

const took = (a, b) => {
  const ms = new Date(b) - new Date(a);
  return ms >= 0 ? (ms < 10000 ? (ms / 1000).toFixed(1) + ' s' : span(ms)) : '';
};
function Call({i}) {
  const r = i.result;
  if (i.kind === 'thought')
    return html`
      <details class="thought">
        <summary class="call m">
          <${Icon} of="right" c="fold" />
          <span class="cut">Thinks: ${first(i.text)}</span>
        </summary>
        <pre tabindex="0">
          ${i.text}
          ${i.cut ? ' …' : ''}
        </pre>
      </details>
    `;
  if (i.alone)
    return html`
      <details class=${'result' + (i.wrong ? ' wrong' : '')}>
        <summary class="call">
          <${Icon} of=${i.wrong ? 'no' : 'done'} c=${i.wrong ? 'warn' : 'm'} />
          <span class="mono cut m">${first(i.text)}</span>
        </summary>
        <pre tabindex="0">${i.text}</pre>
      </details>
    `;
  return html`
    <details class="call1">
      <summary class="call">
        <${Icon}
          of=${!r ? 'run' : r.wrong ? 'no' : 'done'}
          c=${!r ? 'acc' : r.wrong ? 'warn' : 'ok'}
          label=${!r ? 'runs' : r.wrong ? 'went wrong' : 'done'}
        />
        <b>${i.tool}</b>
        <span class="mono cut">${about(i)}</span>
        ${r && r.wrong && html`<span class="chip warn">failed</span>`}
        <span class="n s m">${r ? took(i.at, r.at) : ''}</span>
      </summary>
      <pre tabindex="0">
        ${i.input}
        ${i.cut ? ' …' : ''}
      </pre>
      ${r && html`
        <pre tabindex="0" class=${r.wrong ? 'wrong' : ''}>
          ${r.text}
          ${r.cut ? ' …' : ''}
        </pre>
      `}
    </details>
  `;
}
function Calls({list}) {
  const real = list.filter(i => i.kind !== 'thought'),
    n = {};
  for (const i of real)
    if (i.tool) {
      const v = verbOf(i.tool);
      n[v] = (n[v] || 0) + 1;
    }
  const plural = {search: 'searches', other: 'others'},
    says = Object.entries(n)
      .map(([k, v]) => v + ' ' + (v === 1 ? k : plural[k] || k + 's'))
      .join(', ');
  const wrong = real.filter(i => i.result?.wrong || i.wrong).length,
    rows = list.map(i => html`<${Call} i=${i} key=${i.id} />`);
  if (list.length < 4) return html`<div class="calls">${rows}</div>`;
  return html`
    <details class="calls many">
      <summary class="call m">
        <${Icon} of="right" c="fold" />
        <span class="cut">
          ${wrong > 0 && html`<span class="warn">${wrong} failed</span> · `}
          ${count(real.length, 'call')}
          ${says && ': ' + says}
        </span>
        <span class="n s">${took(list[0].at, (list.at(-1).result || list.at(-1)).at)}</span>
      </summary>
      ${rows}
    </details>
  `;
}
const long = rows => new Date(rows.at(-1).at) - new Date(rows[0].at) >= 1000;
const plainHost = text => text.replace(/^(\S+):443 /, '$1 '); // where nearly all are
const capital = words => words.slice(0, 1).toUpperCase() + words.slice(1);
const Sys = ({list}) => {
  const refused = list.filter(i => i.kind === 'refused'),
    words = list.filter(i => i.kind !== 'refused'),
    say = i =>
      (i.kind === 'start' ? 'starts ' : i.kind === 'retry' ? 'waits for its model: ' : '') + i.text;
  const line = (rows, head, c) =>
    rows.length > 0 && html`
      <details class=${'calls sys ' + c}>
        <summary class="call m">
          <${Icon} of="right" c="fold" />
          <span class="cut">${head}</span>
          ${rows.length > 1 && long(rows) && html`<span class="n s">${took(rows[0].at, rows.at(-1).at)}</span>`}
        </summary>
        <ul>
          ${rows.map(i => html`
            <li class="m s any" key=${i.id}>${clock(i.at)} ${say(i)}</li>
          `)}
        </ul>
      </details>
    `;
  if (list.length === 1 && words.length === 1)
    return html`
      <p class="calls sys step call m">
        <${Icon} of="done" />
        <span class="any">${capital(say(words[0]))}</span>
      </p>
    `;
  return [
    line(words, capital(words.map(say).join(', ')), 'step'),
    line(
      refused,
      refused.length === 1
        ? plainHost(refused[0].text)
        : count(refused.length, 'connection') + ' refused: ' + plainHost(first(refused[0]?.text)),
      'refused',
    ),
  ];
};

function One({i}) {
  switch (i.kind) {
    case 'words':
      return html`
        <div class="words"><${Words} of=${i.text} /></div>
      `;
    case 'prompt': // a plan with what cco says of it is long, and known
      return i.text.length < 600 ? html`
        <div class="words prompt"><${Words} of=${i.text} /></div>
      ` : html`
        <details class="calls prompt">
          <summary class="call">
            <${Icon} of="right" c="fold" />
            <span class="cut">${first(i.text)}</span>
          </summary>
          <div class="words"><${Words} of=${i.text} /></div>
        </details>
      `;
    case 'question':
      return html`
        <div class="words ask">
          <p><b>It asks</b></p>
          <${Words} of=${i.text} />
        </div>
      `;
    case 'denied':
      return html`
        <p class="call no denied">
          <${Icon} of="held" />
          <b>${i.tool}</b>
          <span class="any">denied: ${i.text}</span>
        </p>
      `;
    case 'turn':
      return html`
        <p class="call no">
          <${Icon} of="fail" />
          <span class="any">The turn ended: ${i.text}</span>
        </p>
      `;
    case 'end':
      return html`
        <p class="over m s"><span>${i.text}</span></p>
      `;
    case 'error':
      return html`
        <pre class="bad" tabindex="0">${i.text}</pre>
      `;
    default:
      return html`<pre>${i.text}</pre>`;
  }
}

// A turn that began with what a person said has that under a head of its own.
function Turn({t, n, agent, runs}) {
  const isPrompt = p => p.list[0].kind === 'prompt',
    at = when => html`<time class="m s end" datetime=${when}>${clock(when)}</time>`,
    asked = t.parts.filter(isPrompt),
    did = t.parts.filter(p => !isPrompt(p)),
    spent = [n && 'turn ' + n, t.over && took(t.at, t.end), t.spent && money(t.spent)];
  return html`
    <section class="turn" aria-label=${'Turn ' + (n || 1)}>
      ${asked.length > 0 && html`
        <header>
          <span class="dot"></span>
          <b>You</b>
          ${at(t.at)}
        </header>
        <${Parts} of=${asked} />
      `}
      ${did.length > 0 && html`
        <header>
          <span class=${'dot ' + hue(agent)}></span>
          <b>${agent}</b>
          <span class="m s">${spent.filter(Boolean).join(' · ')}</span>
          ${at(did[0].list[0].at)}
        </header>
        <${Parts} of=${did} runs=${runs && !t.over} />
      `}
    </section>
  `;
}
// stepsOf makes steps of what commands printed. A script, of which its title is given, says when a task of its plan
// begins, and what came of it; what another agent prints is only printed.
const mark = '==> ';
function stepsOf(list) {
  const steps = [];
  for (const {id, at, text, script} of list) {
    const says = script && text.startsWith(mark) ? text.slice(mark.length) : '',
      last = steps.at(-1);
    if (last && says.startsWith(last.title + ': ')) last.came = says.slice(last.title.length + 2);
    else if (says) steps.push({key: id, at, title: says, short: says === 'Task 1: ' + script && 'Task 1', lines: []});
    else if (last && !last.came) last.lines.push(text);
    else steps.push({key: id, at, title: '', lines: [text]});
    steps.at(-1).end = at;
  }
  return steps;
}
// Step is one of them, with the end of what it printed, where that is long. All of it is there, to be found.
function Step({of, runs}) {
  const [whole, show] = useState(false),
    n = of.lines.length,
    long = n > 30;
  return html`
    <section class=${'printed' + (long && !whole ? ' end0' : '')}>
      <p class="f s m">
        <${Icon} of=${runs ? 'run' : of.came ? 'done' : 'gone'} c=${runs ? 'acc' : of.came ? 'ok' : ''} />
        <b class="cut" title=${of.title}>${of.short || of.title || 'Output'}</b>
        ${of.came && html`<span class="cut dk">${of.came}</span>`}
        <span class="end n">
          ${long && html`<span class="dk">${count(n, 'line')}, </span>`}
          ${runs ? span(new Date(of.end) - new Date(of.at)) : took(of.at, of.end)}
        </span>
        ${long && html`
          <button type="button" class="btn q" onClick=${() => show(!whole)}>
            ${whole ? 'Show the end' : 'Show all'}
          </button>
        `}
      </p>
      ${n > 0 && html`<pre class="lines" tabindex="0">${of.lines.join('\n')}</pre>`}
    </section>
  `;
}
function Printed({list, runs}) {
  const steps = stepsOf(list);
  return steps.map((x, k) => html`
    <${Step} key=${x.key} of=${x} runs=${runs && !x.came && k === steps.length - 1} />
  `);
}
const Parts = ({of, runs}) => of.map(p => html`
        <div
          class=${'item ' + (p.kind === 'one' ? p.list[0].kind : p.kind === 'calls' ? 'group0' : p.kind)}
          key=${p.key}>
          ${p.kind === 'calls' ? html`
            <${Calls} list=${p.list} />
          ` : p.kind === 'sys' ? html`
            <${Sys} list=${p.list} />
          ` : p.kind === 'lines' ? html`
            <${Printed} list=${p.list} runs=${runs && p === of.at(-1)} />
          ` : html`
            <${One} i=${p.list[0]} />
          `}
        </div>
      `);

// a transcript is a window on its lines: [first, end) of total
function useTranscript(id) {
  const t = useRef(null);
  const [, draw] = useState(0);
  if (!t.current) t.current = {items: [], first: 0, end: 0, total: 0, next: 0, live: false, error: null};
  const w = t.current,
    redraw = () => draw(n => n + 1);
  const stop = useRef(null);
  const follow = () => {
    if (stop.current) return;
    w.live = true;
    let queue = [],
      timer = 0;
    const take = () => {
      timer = 0;
      w.items = w.items.concat(queue);
      queue = [];
      if (w.items.length > MOST) {
        w.first += w.items.length - MOST;
        w.items = w.items.slice(-MOST);
      }
      redraw();
    };
    stop.current = stream(() => `/sessions/${id}/events?from=${w.next}`, {
      item: (i, at) => {
        if (i.id <= w.next) return; // it was seen
        w.next = i.id;
        w.end++;
        w.total = Math.max(w.total, w.end);
        queue.push(i);
        if (!timer) timer = setTimeout(take, 30);
      },
    });
  };
  const unfollow = () => {
    if (stop.current) {
      stop.current();
      stop.current = null;
    }
    w.live = false;
  };
  // An answer may end sooner than was asked for: the lines of one can be very long.
  const part = async (from, n) => {
    let p = await ask(`/sessions/${id}/transcript?limit=${n}` + (from === null ? '' : '&first=' + from));
    const first = p.first,
      end = Math.min(p.total, first + n);
    let items = p.items;
    while (p.end < end) {
      p = await ask(`/sessions/${id}/transcript?limit=${end - p.end}&first=${p.end}`);
      items = items.concat(p.items);
      if (!p.total) break;
    }
    return {...p, first, items};
  };
  const load = async (from, n, how) => {
    try {
      const p = await part(from, n),
        end = p.end;
      if (how === 'before') {
        w.items = p.items.concat(w.items).slice(0, MOST);
        if (w.items.length === MOST) unfollow();
        w.first = p.first;
      } else if (how === 'after') {
        w.items = w.items.concat(p.items).slice(-MOST);
        w.end = end;
        w.next = p.next;
      } else {
        w.items = p.items;
        w.first = p.first;
        w.end = end;
        w.next = p.next;
      }
      w.total = p.total;
      w.error = null;
      w.read = true;
      if (w.end >= w.total && how !== 'before') follow();
    } catch (e) {
      w.error = e;
    }
    redraw();
  };
  useEffect(() => {
    load(null, PART);
    return unfollow;
  }, [id]);
  return {
    w,
    earlier: () => load(Math.max(0, w.first - PART), Math.min(PART, w.first), 'before'),
    later: () => load(w.end, PART, 'after'),
    to: n => {
      unfollow();
      load(Math.max(0, n - 5), PART);
    },
    last: () => {
      unfollow();
      load(null, PART);
    },
  };
}

function Search({id, to}) {
  const [q, setQ] = useState(''),
    [hits, setHits] = useState(null),
    [done, setDone] = useState(false),
    stop = useRef(null);
  const look = e => {
    e.preventDefault();
    if (stop.current) stop.current.close();
    setHits([]);
    setDone(false);
    if (!q.trim()) {
      setHits(null);
      return;
    }
    const es = new EventSource(`/api/v1/sessions/${id}/search?q=` + encodeURIComponent(q));
    stop.current = es;
    es.addEventListener('hit', m => setHits(h => [...h, JSON.parse(m.data)]));
    es.addEventListener('done', () => {
      setDone(true);
      es.close();
    });
    es.onerror = () => {
      setDone(true);
      es.close();
    };
  };
  useEffect(() => () => stop.current && stop.current.close(), []);
  return html`
    <form class="f grow" role="search" onSubmit=${look}>
      <input
        class="in grow"
        type="search"
        aria-label="Search in the transcript"
        placeholder="Search"
        value=${q}
        onInput=${e => setQ(e.target.value)}
      />
      <span role="status" class="m s">${hits ? `${hits.length} found${done ? '' : ' so far'}` : ''}</span>
    </form>
    ${hits && hits.length > 0 && html`
      <ol class="hits" tabindex="0" aria-label="What was found">
        ${hits.map(h => html`
          <li key=${h.number}>
            <button type="button" onClick=${() => to(h.number)}>
              <time class="m s">${clock(h.at)}</time>
              <span class="cut">${h.text}</span>
            </button>
          </li>
        `)}
      </ol>
    `}
  `;
}

// Say answers, tells an agent at its terminal something, or goes on. What was typed for one question is gone with it.
function Say({s, done, heard}) {
  const [text, setText] = useState(''),
    to = '/sessions/' + s.id,
    asks = s.question,
    empty = !text.trim(),
    field = useRef(null),
    first = empty && (() => wants(field.current, asks ? 'Say your answer' : 'Say something')),
    sent = () => {
      setText('');
      done();
    };
  const line = (words, button) => html`
    <${Field} words=${words} value=${text} set=${setText} rows=${1} at=${field} />
    ${button}
  `;
  if (asks)
    return html`
      <div class="ask grow">
        <p class="f">
          <${Icon} of="ask" c="warn" />
          <b>It asks</b>
        </p>
        <div class="words"><${Words} of=${s.question} /></div>
        <${Choices} of=${s.question} pick=${setText} />
        <div class="say f">
          ${line(
            'Your answer',
            html`<${Act}
              path=${to + '/answer'}
              seen=${s.seen}
              body=${() => ({text})}
              fill
              first=${first}
              done=${sent}>
              Answer
            </${Act}>`,
          )}
        </div>
      </div>
    `;
  if (s.need?.kind === 'limit')
    return html`
      <div class="ask grow">
        <p class="f">
          <${Icon} of="limit" c="warn" />
          <b>It reached a limit</b>
        </p>
        <div class="words"><${Words} of=${plainly(s.need.words)} /></div>
        <${Answer} n=${s.need} />
      </div>
    `;
  if (s.live)
    return s.terminal ? (
      line(
        'Say something to ' + s.agent,
        html`<${Act} path=${to + '/say'} seen=${s.seen} body=${() => ({text})} fill first=${first} done=${sent}>
          Send
        </${Act}>`,
      )
    ) : html`
      <p class="f working">
        <span class="dot acc"></span>
        <span class="cut">
          Working${heard && html`, last line <${Ago} at=${heard} /> ago`}.
          <span class="m">${' '}You can reply when it ends.</span>
        </span>
      </p>
    `;
  return line(
    'Go on with a message, or with its plan',
    html`
      <${Act} path=${to + '/continue'} seen=${s.seen} body=${() => (empty ? {} : {text})} done=${sent}>
        Go on
      </${Act}>
      <a class=${'btn' + (s.need ? '' : ' fill')} href=${'/session/' + s.id + '/changes'}>What came back</a>
    `,
  );
}

// body is a plan without its title, which the head says already, also where it is that of the one task.
function body(s) {
  const plan = s.plan.startsWith('# ' + s.title + '\n') ? s.plan.slice(s.title.length + 3).trim() : s.plan,
    one = '## Task 1: ' + s.title + '\n';
  return plan.startsWith(one) ? plan.slice(one.length).trim() : plan;
}
const task = heading => heading.replace(/^Task \d+: /, '');
// Gist is what a plan has in it: its parts by their names, or how it begins.
function Gist({s}) {
  const parts = heads(body(s));
  return html`
    <section>
      <h2>Plan</h2>
      ${parts.length > 1 ? html`
        <ol class="gist">
          ${parts.slice(0, 12).map((x, i) => html`
            <li key=${i} class="f"><span class="m n">${i + 1}</span><span class="cut">${task(x)}</span></li>
          `)}
        </ol>
      ` : html`
        <div class="words m clip"><${Words} of=${body(s)} first=${6} /></div>
      `}
      <p><a class="s acc" href=${'/session/' + s.id + '/plan'}>Whole plan</a></p>
    </section>
  `;
}

export function Session({id}) {
  const t = useTranscript(id),
    [filter, setFilter] = useState('all'),
    [below, setBelow] = useState(false),
    stick = useRef(true);
  useEffect(() => {
    const f = () => {
      stick.current = innerHeight + scrollY > document.documentElement.scrollHeight - 80;
      setBelow(!stick.current);
    };
    addEventListener('scroll', f, {passive: true});
    return () => removeEventListener('scroll', f);
  }, []);
  useEffect(() => {
    if (t.w.live && stick.current) scrollTo(0, document.documentElement.scrollHeight);
  });
  const {w} = t,
    end = () => {
      stick.current = true;
      if (w.live) scrollTo(0, document.documentElement.scrollHeight);
      else t.last();
    };
  return html`
    <${Frame} id=${id} tab="">
      ${(s, done) => {
        const asked = s.question && w.items.findLast(i => i.kind === 'question'),
          // What commands print.
          said = i => (s.agent === 'script' && i.kind === 'words' ? {...i, kind: 'line', script: titleOf(s)} : i),
          turns = turnsOf(w.items.filter(i => i !== asked && shows[filter](i)).map(said)),
          quiet = w.read && !w.first && filter === 'all' && turns.every(x => x.parts.every(p => p.kind === 'sys'));
        return html`
          <div class="side talk">
            <main id="main" tabindex="-1" aria-label="Transcript">
              <div class="finder f wrap" hidden=${quiet && !s.live}>
                <${Search}
                  id=${id}
                  to=${n => {
                    stick.current = false;
                    t.to(n);
                  }}
                />
                <select aria-label="Show" value=${filter} onChange=${ev => setFilter(ev.target.value)}>
                  ${Object.keys(shows).map(k => html`
                    <option key=${k} value=${k}>${names[k]}</option>
                  `)}
                </select>
              </div>
              <${Oops} e=${w.error} />
              ${s.reason && !s.live && s.need?.kind !== 'limit' && html`<p class="ask2">${plainly(s.reason)}</p>`}
              ${w.first > 0 && html`
                <p class="f more">
                  <button
                    type="button"
                    class="btn q"
                    onClick=${() => {
                      stick.current = false;
                      t.earlier();
                    }}>
                    Earlier
                  </button>
                  <span class="m s">from line ${w.first + 1} of ${w.total}</span>
                </p>
              `}
              ${turns.map((x, k) => html`
                <${Part} key=${x.key}>
                  <${Turn}
                    t=${x}
                    n=${turns.length > 1 && k + 1}
                    agent=${s.agent}
                    runs=${s.live && w.live && k === turns.length - 1}
                  />
                </${Part}>
              `)}
              ${!w.live && w.end < w.total && html`
                <p class="f more"><button type="button" class="btn q" onClick=${t.later}>Later</button></p>
              `}
              ${quiet && !asked && html`
                <${Empty}
                  icon=${s.live ? 'run' : 'log'}
                  head=${s.terminal ? 'Its agent is on a terminal' : 'Nothing was said' + (s.live ? ' yet' : '')}>
                  ${s.terminal && html`
                    Nothing of it was written down yet.${' '}
                    <a class="acc" href=${'/session/' + id + '/terminal'}>Look at it</a>
                  `}
                </${Empty}>
              `}
              <div class="dock stay steer">
                ${(below || (!w.live && w.end < w.total)) && html`
                  <button type="button" class="btn jump" onClick=${end}>
                    <${Icon} of="arrow" />
                    Jump to latest
                  </button>
                `}
                <${Say} key=${s.question ? s.seen : ''} s=${s} done=${done} heard=${w.items.at(-1)?.at} />
              </div>
            </main>
            <${Details} s=${s}>${s.plan && html`<${Gist} s=${s} />`}</${Details}>
          </div>
        `;
      }}
    </${Frame}>
  `;
}

// Contents leads to the parts of a long plan.
const Contents = ({of}) => html`
  <section>
    <h2>Contents</h2>
    <ol class="gist">
      ${of.map((x, i) => html`
        <li key=${i} class="f">
          <span class="m n">${i + 1}</span>
          <button
            type="button"
            class="open"
            onClick=${() => document.querySelectorAll('.long .heading')[i]?.scrollIntoView()}>
            ${task(x)}
          </button>
        </li>
      `)}
    </ol>
  </section>
`;
export function Plan({id}) {
  return html`
    <${Frame} id=${id} tab="/plan">
      ${s => {
        const parts = s.plan ? heads(body(s)) : [];
        return html`
          <div class="side talk">
            <main id="main" tabindex="-1">
              ${s.plan ? html`
                <section class="card">
                  <h2 class="f">
                    <${Icon} of="file" c="m" />
                    Plan
                    <span class="m s cut">
                      ${parts.length > 1 && count(parts.length, 'part') + ', '}sent to ${s.agent}
                      ${!none(s.created) && html` <${Ago} at=${s.created} /> ago`}
                    </span>
                    <${Copy} of=${s.plan} quiet>Copy plan</${Copy}>
                  </h2>
                  <div class="words long"><${Words} of=${body(s)} /></div>
                </section>
              ` : html`
                <${Empty} icon="file" head="No plan">None was sent to it, or it is not known any more.</${Empty}>
              `}
            </main>
            <${Details} s=${s}>${parts.length > 2 && html`<${Contents} of=${parts} />`}</${Details}>
          </div>
        `;
      }}
    </${Frame}>
  `;
}
