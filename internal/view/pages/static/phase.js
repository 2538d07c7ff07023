// A phase: its timeline as bars, its findings and who said them, its pull request.
import {html, useAsk, useState, state, Words, Act, GoOn, Oops, Part, Wrong, State, Ago, span, clock, money, short} from '/assets/app.js';

function Timeline({bars}) {
  if (!bars.length) return html`<p class="quiet">Nothing has happened yet.</p>`;
  const t = b => new Date(b).getTime(), from = t(bars[0].from), to = Math.max(from + 1, ...bars.map(b => t(b.to)));
  const rows = [...new Set(bars.map(b => b.round))];
  return html`<figure class="timeline" aria-label="Timeline"><figcaption class="quiet">${new Date(from).toLocaleString()} to ${new Date(to).toLocaleString()}, ${span(to - from)}</figcaption>
    ${rows.map(r => html`<div class="lane" key=${r}><span class="quiet lane-name">${r ? 'round ' + r : 'start'}</span><div class="lane-bars">
      ${bars.filter(b => b.round === r).map((b, i) => html`<span key=${i} class=${'seg ' + b.kind} title=${`${b.name}: ${span(t(b.to) - t(b.from))}`}
        style=${{left: (t(b.from) - from) / (to - from) * 100 + '%', width: `max(3px, ${(t(b.to) - t(b.from)) / (to - from) * 100}%)`}}></span>`)}</div></div>`)}
    <details><summary>As a list</summary><ol class="bars">${bars.map((b, i) => html`<li key=${i}><span class=${'seg key ' + b.kind}></span> ${clock(b.from)} <b>${b.name}</b> <span class="quiet">${b.kind}, ${span(t(b.to) - t(b.from))}${b.round ? ', round ' + b.round : ''}</span></li>`)}</ol></details>
    <p class="quiet legend">${['work', 'wait', 'trouble', 'ask', 'pause', 'crash', 'stopped', 'engine', 'end'].map(k => html`<span><span class=${'seg key ' + k}></span> ${k}</span> `)}</p></figure>`;
}

const trusts = {you: 'you', named: 'named by you', accepted: 'a stranger, accepted by you', writer: 'may write to the repository', reviewer: 'a reviewing model', check: 'a check of the forge', cco: 'cco itself'};
const Finding = ({f}) => html`<li class=${'card finding ' + f.state}><h3>${f.who} <span class="quiet">(${trusts[f.trust] || f.trust})</span> <${State} of=${f.state} /></h3>
  <p class="quiet">${[f.path && f.path + (f.line ? ':' + f.line : ''), f.severity, 'round ' + f.round, f.reopened && 'came back ' + f.reopened + ' times'].filter(Boolean).join(' · ')}</p>
  <div class="words"><${Words} of=${f.words} /></div>
  ${f.commit && html`<p>${f.state === 'declined' ? 'declined at' : 'answered by'} <code>${short(f.commit)}</code></p>`}${f.reason && html`<p>${f.reason}</p>`}
  ${f.url && html`<p><a href=${f.url} target="_blank" rel="noopener noreferrer">${f.url}</a></p>`}</li>`;

export function Phase({id}) {
  const st = state.value, mark = st && st.phases.find(p => p.id === id), [again, setAgain] = useState(0);
  const {v: p, e} = useAsk('/phases/' + id, (mark ? mark.updated + mark.stage : '') + again);
  const [text, setText] = useState(''), [more, setMore] = useState('');
  const head = html`<h1>${p ? p.title : 'Phase ' + id} ${p && html`<${State} of=${p.ended ? 'ended' : p.paused ? 'paused' : p.stage} />`}</h1>`;
  if (e) return html`${head}<${Oops} e=${e} />`;
  if (!p) return head;
  const to = '/phases/' + id, done = () => setAgain(n => n + 1);
  const broke = p.end === 'spend limit';
  return html`${head}<${Wrong} of=${p.wrong} />
    <p class="quiet">${[p.id, p.phase, p.repo, p.branch].filter(Boolean).join(' · ')} · ${money(p) || 'nothing spent'}${p.max_cost ? ' of $' + p.max_cost.toFixed(2) : ''} · round ${p.round} of ${p.max_rounds}
      ${p.session && html` · <a href=${'/session/' + p.session}>its session</a>`}${p.worker && ` · on ${p.worker}`}</p>
    ${p.sessions.length > 0 && html`<ul class="quiet">${p.sessions.map(s => html`<li key=${s.worker + s.id}>session ${s.id} on ${s.worker}: ${s.agent}, ${s.state}${s.silent ? ' when the machine was last heard of' : ''}${money(s) ? ', ' + money(s) : ''}</li>`)}</ul>`}
    ${p.pr_url && html`<p>Pull request ${p.pr_number}: <a href=${p.pr_url} target="_blank" rel="noopener noreferrer">${p.pr_url}</a></p>`}
    ${p.question && html`<div class="words question"><b>It asks:</b> <${Words} of=${p.question} /></div>`}
    ${p.trouble && html`<p class="bad">${p.ended ? 'It went wrong' : 'It waits out'}: ${p.trouble}</p>`}${p.waits && html`<p>It waits for ${p.waits}.</p>`}${p.end && html`<p>It ended: ${p.end}.</p>`}
    ${p.gate && html`<p class="bad">Of the change you must know: ${p.gate}</p>`}
    <div class="row"><label class="grow"><span class="hidden">Say something to the fixer</span><textarea rows="2" placeholder="Say something to the fixer" value=${text} onInput=${ev => setText(ev.target.value)}></textarea></label>
      <${Act} path=${to + '/fix'} seen=${p.seen} body=${() => text.trim() ? {comment: text} : {}} main done=${() => { setText(''); done(); }}>${text.trim() ? 'Fix with this comment' : 'Look for comments now'}</${Act}></div>
    <div class="row">${!p.ended && !p.paused && html`<${Act} path=${to + '/pause'} done=${done}>Pause</${Act}>`}
      ${broke && html`<label>More dollars <input inputmode="decimal" size="8" value=${more} onInput=${ev => setMore(ev.target.value)} /></label>`}
      ${(p.paused || p.question || p.ended) && html`<${GoOn} of=${p} to=${to} body=${() => ({more_cost: broke ? Number(more) || 0 : 0})} disabled=${broke && !(Number(more) > 0)} done=${done} />`}
      ${p.against.map(who => html`<${Act} key=${who} path=${to + '/resume'} seen=${p.seen} body=${{over: who}} sure=${`Yes, merge although ${who} requested changes; that is said on the pull request`} done=${done}>Merge over ${who}</${Act}>`)}
      <${Act} path=${to + '/cleanup'} danger sure="Yes, end it and remove its workspace" done=${done}>Clean up</${Act}>
      <${Act} path=${to + '/cleanup'} body=${{force: true}} danger done=${done}
        sure="Yes: end its agent, save its work in the graveyard, remove its branch though it is not merged">Force a clean-up</${Act}></div>
    ${p.held.length > 0 && html`<h2>Strangers say</h2><ul class="cards">${p.held.map(c => html`<li class="card" key=${c.id}><h3>${c.who} <span class="quiet">(not trusted)</span></h3><div class="words"><${Words} of=${c.words} /></div>
      <${Act} path=${to + '/accept'} seen=${c.seen} body=${{comment: c.id}} sure="Yes, let the fixer do it" done=${done}>Accept it as work</${Act}></li>`)}</ul>`}
    <h2>Timeline</h2><${Part}><${Timeline} bars=${p.bars} /></${Part}>
    <h2>Findings${p.findings.length ? ` (${p.findings.filter(f => f.state === 'open').length} open of ${p.findings.length})` : ''}</h2>
    ${p.findings.length ? html`<ul class="cards">${p.findings.map(f => html`<${Finding} f=${f} key=${f.id} />`)}</ul>` : html`<p class="quiet">Nothing was asked for yet.</p>`}
    ${p.verdicts.length > 0 && html`<h2>Verdicts</h2><ul>${p.verdicts.map(v => html`<li>${v.domain}: <b>${v.verdict || 'failed'}</b> at <code>${short(v.head)}</code> ${v.failure}</li>`)}</ul>`}
    <h2>Task</h2><pre class="task" tabindex="0">${p.task}</pre>
    <h2>Log</h2><ol class="log">${p.log.slice().reverse().map((l, i) => html`<li key=${p.log.length - i}><time>${clock(l.at)}</time> ${l.text}</li>`)}</ol>`;
}
