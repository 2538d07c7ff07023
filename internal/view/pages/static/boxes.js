// Which boxes there are, what they use, and a way to stop everything; and what was done on this page.
import {html, useAsk, useState, useEffect, state, Act, Oops, State, Ago, money, runs} from '/assets/app.js';

export function Boxes() {
  const [again, setAgain] = useState(0), st = state.value;
  const {v, e} = useAsk('/boxes', again + '.' + runs(st)), [kept, keep] = useState(null);
  useEffect(() => { if (v) keep(v); }, [v]);
  const list = v || kept, done = () => setAgain(n => n + 1);
  return html`<h1>Boxes</h1>
    <p><${Act} path="/stop" danger sure="Yes, stop everything now" done=${done}>Stop everything</${Act}> <span class="quiet">Pauses phases, ends agents and keeps their work, stops boxes.</span></p>
    <${Oops} e=${e} />
    ${list && (list.length ? html`<ul class="cards">${list.map(b => html`<li class="card" key=${b.name}><h2><a href=${'/box/' + encodeURIComponent(b.name)}>${b.name}</a> <${State} of=${b.state} /></h2>
      <p class="quiet">${b.backend} · network ${b.network} · ${b.live} at work, ${b.total} sessions in all${money(b.spent) ? ' · ' + money(b.spent) : ''} · made <${Ago} at=${b.created} /> ago</p>
      ${b.detail && html`<p>${b.detail}</p>`}
      <p class="row"><a class="button" href=${'/box/' + encodeURIComponent(b.name)}>Safety</a>
        ${b.state === 'running' ? html`<${Act} path=${'/boxes/' + encodeURIComponent(b.name) + '/stop'} sure="Yes, stop it" done=${done}>Stop</${Act}>` : html`<${Act} path=${'/boxes/' + encodeURIComponent(b.name) + '/start'} done=${done}>Start</${Act}>`}</p></li>`)}</ul>`
      : html`<p class="quiet">No boxes yet. <code>cco box create</code> makes one.</p>`)}`;
}

export function Log() {
  const {v, e} = useAsk('/log', 0);
  return html`<h1>What was done here</h1><${Oops} e=${e} />
    ${v && (v.length ? html`<ol class="log">${v.map((d, i) => html`<li key=${i}><time>${new Date(d.at).toLocaleString()}</time> <b>${d.what}</b> ${d.on} <code>${d.decided}</code> <span class=${/^(asked|done)/.test(d.result) ? '' : 'bad'}>${d.result}</span> <span class="quiet">${d.browser}</span></li>`)}</ol>` : html`<p class="quiet">Nothing yet.</p>`)}`;
}
