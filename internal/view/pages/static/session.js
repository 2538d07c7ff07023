// One transcript for all agents: it joins late, follows, searches and filters.
import {html, ask, stream, state, signal, useEffect, useRef, useState, useAsk, Words, Choices, Act, Oops, Part, Wrong, State, Ago, clock, money, runOf, short} from '/assets/app.js';

const PART = 200, MOST = 1500;
const shows = {
  all: () => true,
  words: i => ['words', 'question', 'line', 'turn', 'end'].includes(i.kind),
  tools: i => ['call', 'result', 'denied', 'refused'].includes(i.kind),
  refused: i => ['denied', 'refused', 'error'].includes(i.kind) || i.wrong,
};
const names = {all: 'Everything', words: 'Words', tools: 'Tools', refused: 'Denied and wrong'};

function first(text) { const l = (text || '').trim().split('\n')[0]; return l.length > 140 ? l.slice(0, 140) + '…' : l; }
const Fold = ({head, kind, text, open}) => html`<details class=${kind} open=${open}><summary>${head}</summary><pre tabindex="0">${text}</pre></details>`;

function Item({i}) {
  const at = html`<time class="at" datetime=${i.at}>${clock(i.at)}</time>`;
  const cut = i.cut ? ' (cut)' : '';
  let body;
  switch (i.kind) {
    case 'words': body = html`<div class="words"><${Words} of=${i.words} /></div>`; break;
    case 'question': body = html`<div class="words question"><b>asks</b> <${Words} of=${i.words} /></div>`; break;
    case 'thought': body = html`<${Fold} kind="thought" head=${'thinks: ' + first(i.text)} text=${i.text + cut} />`; break;
    case 'call': body = html`<${Fold} kind="call" head=${html`<b>${i.tool}</b> ${first(i.input)}`} text=${i.input + cut} />`; break;
    case 'result': body = html`<${Fold} kind=${'result' + (i.wrong ? ' wrong' : '')} head=${html`${i.wrong ? html`<b class="bad">went wrong:</b>` : 'result:'} ${first(i.text)}`} text=${i.text + cut} />`; break;
    case 'denied': body = html`<p class="denied"><b>denied</b> ${i.tool} ${i.text}</p>`; break;
    case 'refused': body = html`<p class="denied"><b>refused</b> ${i.text}</p>`; break;
    case 'turn': body = html`<p class=${'turn' + (i.wrong ? ' bad' : '')}>the turn ends: ${i.text}${i.spent && money(i.spent) ? ' · ' + money(i.spent) : ''}</p>`; break;
    case 'start': body = html`<p class="turn">starts ${i.text}</p>`; break;
    case 'retry': body = html`<p class="turn">waits for its model: ${i.text}</p>`; break;
    case 'end': body = html`<p class="turn"><b>${i.text}</b></p>`; break;
    case 'step': body = html`<p class="quiet">${i.text}</p>`; break;
    case 'error': body = html`<pre class="bad">${i.text}</pre>`; break;
    default: body = html`<pre>${i.text}</pre>`;
  }
  return html`<li class=${'item ' + i.kind} data-id=${i.id}>${at}${body}</li>`;
}

// a transcript is a window on its lines: [first, end) of total
function useTranscript(id) {
  const t = useRef(null);
  const [, draw] = useState(0);
  if (!t.current) t.current = {items: [], first: 0, end: 0, total: 0, next: 0, live: false, error: null};
  const w = t.current, redraw = () => draw(n => n + 1);
  const stop = useRef(null);
  const follow = () => {
    if (stop.current) return;
    w.live = true;
    let queue = [], timer = 0;
    const take = () => {
      timer = 0;
      w.items = w.items.concat(queue); queue = [];
      if (w.items.length > MOST) { w.first += w.items.length - MOST; w.items = w.items.slice(-MOST); }
      redraw();
    };
    stop.current = stream(() => `/sessions/${id}/events?from=${w.next}`, {item: (i, at) => {
      if (i.id <= w.next) return; // it was seen
      w.next = i.id; w.end++; w.total = Math.max(w.total, w.end);
      queue.push(i);
      if (!timer) timer = setTimeout(take, 30);
    }});
  };
  const unfollow = () => { if (stop.current) { stop.current(); stop.current = null; } w.live = false; };
  // An answer may end sooner than was asked for: the lines of one can be very long.
  const part = async (from, n) => {
    let p = await ask(`/sessions/${id}/transcript?limit=${n}` + (from === null ? '' : '&first=' + from));
    const first = p.first, end = Math.min(p.total, first + n);
    let items = p.items;
    while (p.end < end) { p = await ask(`/sessions/${id}/transcript?limit=${end - p.end}&first=${p.end}`); items = items.concat(p.items); if (!p.total) break; }
    return {...p, first, items};
  };
  const load = async (from, n, how) => {
    try {
      const p = await part(from, n), end = p.end;
      if (how === 'before') { w.items = p.items.concat(w.items).slice(0, MOST); if (w.items.length === MOST) unfollow(); w.first = p.first; }
      else if (how === 'after') { w.items = w.items.concat(p.items).slice(-MOST); w.end = end; w.next = p.next; }
      else { w.items = p.items; w.first = p.first; w.end = end; w.next = p.next; }
      w.total = p.total; w.error = null;
      if (w.end >= w.total && how !== 'before') follow();
    } catch (e) { w.error = e; }
    redraw();
  };
  useEffect(() => { load(null, PART); return unfollow; }, [id]);
  return {w, earlier: () => load(Math.max(0, w.first - PART), Math.min(PART, w.first), 'before'), later: () => load(w.end, PART, 'after'),
    to: n => { unfollow(); load(Math.max(0, n - 5), PART); }, last: () => { unfollow(); load(null, PART); }};
}

function Search({id, to}) {
  const [q, setQ] = useState(''), [hits, setHits] = useState(null), [done, setDone] = useState(false), stop = useRef(null);
  const look = e => {
    e.preventDefault();
    if (stop.current) stop.current.close();
    setHits([]); setDone(false);
    if (!q.trim()) { setHits(null); return; }
    const es = new EventSource(`/api/v1/sessions/${id}/search?q=` + encodeURIComponent(q));
    stop.current = es;
    es.addEventListener('hit', m => setHits(h => [...h, JSON.parse(m.data)]));
    es.addEventListener('done', () => { setDone(true); es.close(); });
    es.onerror = () => { setDone(true); es.close(); };
  };
  useEffect(() => () => stop.current && stop.current.close(), []);
  return html`<form class="row" role="search" onSubmit=${look}><label><span class="hidden">Search in the transcript</span>
      <input type="search" placeholder="Search (press /)" value=${q} onInput=${e => setQ(e.target.value)} /></label><button>Search</button>
      <span role="status" class="quiet">${hits ? `${hits.length} found${done ? '' : ' so far'}` : ''}</span></form>
    ${hits && hits.length > 0 && html`<ol class="hits" tabindex="0" aria-label="What was found">${hits.map(h => html`<li key=${h.number}><button type="button" class="link" onClick=${() => to(h.number)}>
      <time>${clock(h.at)}</time> ${h.text}</button></li>`)}</ol>`}`;
}

// Say answers or goes on. What was typed for one question is gone with it.
function Say({s, done}) {
  const [text, setText] = useState('');
  const to = '/sessions/' + s.id, asks = s.question && s.question.length;
  const box = what => html`<label class="grow"><span class="hidden">${what}</span><textarea rows="2" placeholder=${what} value=${text} onInput=${e => setText(e.target.value)}></textarea></label>`;
  const sent = () => { setText(''); done(); };
  return asks ? html`<div class="words question"><b>It asks:</b> <${Words} of=${s.question} /></div>
      <${Choices} of=${s.question} pick=${setText} /><div class="row">${box('Your answer')}<${Act} path=${to + '/answer'} seen=${s.seen} body=${() => ({text})} main disabled=${!text.trim()} done=${sent}>Answer</${Act}></div>`
    : !s.live && html`<div class="row">${box('Go on with a message; without one it goes on with its plan')}
      <${Act} path=${to + '/continue'} seen=${s.seen} body=${() => text.trim() ? {text} : {}} done=${sent}>Go on</${Act}></div>`;
}

const Steer = ({s, done}) => html`<div class="steer"><${Say} key=${s.question ? s.seen : ''} s=${s} done=${done} />
    <div class="row">${s.live && html`<${Act} path=${'/sessions/' + s.id + '/kill'} danger sure="Yes, end it" done=${done}>Kill (keeps its work)</${Act}>`}
      ${!s.live && html`<a class="button main" href=${'/session/' + s.id + '/changes'}>What came back</a>`}
      ${s.terminal && html`<a class="button" href=${'/session/' + s.id + '/terminal'}>Terminal</a>`}</div></div>`;

export function Session({id}) {
  const st = state.value, [again, setAgain] = useState(0);
  const mark = st && [...st.live, ...st.recent].find(v => v.id === id);
  const {v: s, e} = useAsk('/sessions/' + id, runOf(mark) + again);
  const t = useTranscript(id), [filter, setFilter] = useState('all'), list = useRef(null), stick = useRef(true);
  useEffect(() => {
    const f = () => { stick.current = innerHeight + scrollY > document.documentElement.scrollHeight - 80; };
    addEventListener('scroll', f);
    return () => removeEventListener('scroll', f);
  }, []);
  useEffect(() => { if (t.w.live && stick.current) scrollTo(0, document.documentElement.scrollHeight); });
  if (e) return html`<h1>Session ${id}</h1><${Oops} e=${e} />`;
  if (!s) return html`<h1>Session ${id}</h1>`;
  const {w} = t, live = mark || s;
  return html`<h1>${s.title || id} <${State} of=${live.state} /></h1>
    <p class="quiet">${[s.id, s.agent, s.model, s.repo, s.branch].filter(Boolean).join(' · ')} · <a href=${'/box/' + encodeURIComponent(s.box)}>box ${s.box}</a>
      · <${Ago} at=${s.started || s.created} />${money(live.spent) ? ' · ' + money(live.spent) : ''}${s.limits.run_cost ? ' of $' + s.limits.run_cost.toFixed(2) : ''}${s.tip ? ' · pulled at ' + short(s.tip) : ''}</p>
    ${s.reason && html`<p class="bad">${s.reason}</p>`}<${Wrong} of=${s.wrong} />
    <div class="two"><section aria-label="Transcript">
      <div class="row tools"><label>Show <select value=${filter} onChange=${ev => setFilter(ev.target.value)}>${Object.keys(shows).map(k => html`<option value=${k}>${names[k]}</option>`)}</select></label>
        <${Search} id=${id} to=${n => { stick.current = false; t.to(n); }} /></div>
      <${Oops} e=${w.error} />
      ${w.first > 0 && html`<p><button type="button" onClick=${() => { stick.current = false; t.earlier(); }}>Earlier</button> <span class="quiet">line ${w.first} of ${w.total}</span></p>`}
      <ol class="transcript" ref=${list} aria-label="What it said and did">${w.items.filter(shows[filter]).map(i => html`<${Part} key=${i.id}><${Item} i=${i} /></${Part}>`)}</ol>
      ${!w.live && w.end < w.total && html`<p><button type="button" onClick=${t.later}>Later</button> <button type="button" onClick=${() => { stick.current = true; t.last(); }}>To the end</button></p>`}
      ${w.items.length === 0 && html`<p class="quiet">${s.terminal ? 'Its agent is on a terminal.' : 'Nothing was said yet.'}</p>`}
      <${Steer} s=${{...s, live: mark ? st.live.includes(mark) : s.live}} done=${() => setAgain(n => n + 1)} />
    </section>
    <aside aria-label="Plan"><h2>Plan</h2><div class="words">${s.plan.length ? html`<${Words} of=${s.plan} />` : html`<p class="quiet">No plan was sent to it, or it is not known any more.</p>`}</div></aside></div>`;
}
