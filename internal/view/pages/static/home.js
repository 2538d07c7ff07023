// What needs you, answered where it stands; below it what runs, and what has ended.
import {html, state, useState, Words, Choices, Act, GoOn, Ago, State, Part, count, money, base} from '/assets/lib.js';

const says = {idle: 'has finished', answer: 'asks', mend: 'has trouble', limit: 'reached a limit', decide: 'needs a decision', look: 'failed', pull: 'is done', accept: 'a stranger says', engine: 'nobody watches'};

function Need({n}) {
  const link = n.of === 'engine' ? null : n.of === 'phase' ? '/phase/' + (n.parent || n.id) : '/session/' + n.id;
  return html`<li class=${'card need ' + n.kind}>
    <h3>${link ? html`<a href=${link}>${n.title || n.id}</a>` : n.title} <span class="what">${says[n.kind] || n.kind}</span></h3>
    <p class="quiet">${[n.agent, n.branch, n.parent || n.id].filter(Boolean).join(' · ')} · <${Ago} at=${n.since} /></p>
    <div class="words"><${Words} of=${n.words} /></div>
    <${Answer} n=${n} key=${n.seen} />
    <p class="quiet next"><code>${n.next}</code></p></li>`;
}

// Held is what the gate found, and takes it as `pull --accept` does: of the very work that was looked at.
function Held({n, to}) {
  const [took, setTook] = useState([]);
  const all = n.held.map(g => g.kind), found = n.held.reduce((sum, g) => sum + g.count, 0);
  return html`<fieldset><legend>${count(found, 'finding')} to decide</legend>
    ${n.held.map(g => html`<div key=${g.kind} class=${'group ' + g.danger}><label class="check"><input type="checkbox" checked=${took.includes(g.kind)}
      onChange=${e => setTook(t => e.target.checked ? [...t, g.kind] : t.filter(k => k !== g.kind))} /> <b>${g.kind}</b> ${g.says} (${g.count}; ${g.danger} danger${g.response === 'refuse' ? '; refused by your settings' : ''})</label>
      <ul>${g.findings.map(f => html`<li>${f}</li>`)}${g.count > g.findings.length && html`<li>and ${g.count - g.findings.length} more</li>`}</ul></div>`)}
    <div class="row"><a class="button main" href=${'/session/' + n.id + '/changes'}>Look at what came back</a>
      <${Act} path=${to + '/pull'} seen=${n.work} body=${() => ({accept: took, partial: n.kind === 'look'})} disabled=${!all.every(k => took.includes(k))}>Accept and take all</${Act}></div></fieldset>`;
}

function Answer({n}) {
  const [text, setText] = useState(''), [limit, setLimit] = useState('');
  const to = (n.of === 'phase' ? '/phases/' : '/sessions/') + (n.parent || n.id);
  const box = what => html`<label class="grow"><span class="hidden">${what}</span><textarea rows="2" placeholder=${what} value=${text} onInput=${e => setText(e.target.value)}></textarea></label>`;
  switch (n.kind) {
    case 'answer':
      if (n.of === 'phase') return html`<div class="row">${box('Say something to the fixer')}
        <${Act} path=${to + '/fix'} seen=${n.seen} body=${() => ({comment: text})} disabled=${!text.trim()} done=${() => setText('')}>Say it</${Act}>
        <${GoOn} of=${n} to=${to} main /></div>`;
      return html`<${Choices} of=${n.words} pick=${setText} /><div class="row">${box('Your answer')}
        <${Act} path=${to + '/answer'} seen=${n.seen} body=${() => ({text})} main disabled=${!text.trim()} done=${() => setText('')}>Answer</${Act}></div>`;
    case 'limit': {
      const day = n.cause.startsWith('limits.day'), tok = n.cause.endsWith('tokens');
      return html`<div class="row">${!day && html`<label>${tok ? 'Tokens of the next run' : 'Dollars of the next run'}
          <input inputmode="decimal" value=${limit} onInput=${e => setLimit(e.target.value)} size="8" /></label>`}
        <${Act} path=${to + '/continue'} seen=${n.seen} main body=${() => tok ? {max_tokens: Number(limit) || 0} : {max_cost: Number(limit) || 0}}
          disabled=${!day && !(Number(limit) > 0)}>${day ? 'Go on' : 'Raise it and go on'}</${Act}>
        <a href=${'/session/' + n.id + '/changes'}>What it did so far</a></div>`;
    }
    case 'decide': case 'pull': case 'look':
      return html`${n.wrong && html`<p class="bad">${n.wrong}</p>`}${n.held && html`<${Held} n=${n} to=${to} key=${n.work} />`}
        <div class="row">${!n.held && html`<a class="button main" href=${'/session/' + n.id + '/changes'}>Look at what came back</a>`}
        ${n.kind === 'look' && html`<${Act} path=${to + '/continue'} seen=${n.seen}>Try again</${Act}>`}</div>`;
    case 'idle':
      return html`<div class="row"><${Act} path=${to + '/kill'} seen=${n.seen} main sure="Yes, end it">End it and keep its work</${Act}><a href=${'/session/' + n.id}>Its terminal</a></div>`;
    case 'mend':
      return html`<div class="row"><${Act} path=${to + '/resume'} seen=${n.seen} main>Try again</${Act}></div>`;
    case 'accept':
      return html`<div class="row"><${Act} path=${to + '/accept'} seen=${n.seen} body=${{comment: n.id}} main sure="Yes, let the fixer do it">Accept it as work</${Act}></div>`;
    case 'engine':
      return html`<div class="row"><${Act} path="/phases/watch" main>Start an engine</${Act}></div>`;
  }
  return null;
}

export const Card = ({s}) => html`<li class="card"><h3><a href=${'/session/' + s.id}>${s.title || s.id}</a> <${State} of=${s.state} /></h3>
  <p class="quiet">${[s.agent, s.model, base(s.repo), s.branch, s.box].filter(Boolean).join(' · ')}</p>
  ${s.last && html`<p class="last">${s.last}</p>`}${s.reason && html`<p class="bad">${s.reason}</p>`}
  <p class="quiet">${s.id} · <${Ago} at=${s.finished && !s.finished.startsWith('0001') ? s.finished : s.started || s.created} />${s.spent && money(s.spent) ? ' · ' + money(s.spent) : ''}</p></li>`;

const PhaseCard = ({p}) => html`<li class="card"><h3><a href=${'/phase/' + p.id}>${p.title || p.id}</a> <${State} of=${p.ended ? 'ended' : p.stage} /></h3>
  <p class="quiet">${[p.phase, base(p.repo), p.branch, p.pr_number && 'pull request ' + p.pr_number, money(p)].filter(Boolean).join(' · ')} · <${Ago} at=${p.updated} /></p></li>`;

export function Home() {
  const s = state.value;
  if (!s) return html`<h1>What needs you</h1>`;
  return html`<h1>What needs you</h1>
    ${s.needs.length ? html`<ul class="cards needs">${s.needs.map(n => html`<${Part} key=${n.of + n.id + n.kind}><${Need} n=${n} /></${Part}>`)}</ul>` : html`<p class="good">Nothing waits for you.</p>`}
    <h2>At work${s.live.length ? ` (${s.live.length})` : ''}</h2>
    ${s.live.length ? html`<ul class="cards">${s.live.map(v => html`<${Card} s=${v} key=${v.id} />`)}</ul>` : html`<p class="quiet">No agent runs. <code>cco box push PLAN</code> starts one.</p>`}
    ${s.phases.length > 0 && html`<h2>Phases</h2><ul class="cards">${s.phases.map(p => html`<${PhaseCard} p=${p} key=${p.id} />`)}</ul>`}
    <h2>Ended lately</h2>
    ${s.recent.length ? html`<ul class="cards">${s.recent.map(v => html`<${Card} s=${v} key=${v.id} />`)}</ul>` : html`<p class="quiet">Nothing yet.</p>`}
    <p class="quiet">Today: ${money(s.today) || 'nothing spent'}</p>`;
}
