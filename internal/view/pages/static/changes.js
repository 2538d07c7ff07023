// What came back: by commit and by file, with what the gate found on the very lines. Only `pull` moves a branch.
import {html, useState, useEffect, useAsk, state, Act, Oops, count, runOf, short} from '/assets/app.js';

const Found = ({f}) => html`<div class=${'found ' + f.danger} role="note"><b>${f.kind}</b> ${f.says} <span class="quiet">(${f.danger} danger)</span></div>`;
const Spans = ({l}) => l.spans.map((s, i) => html`<span class=${s.class ? 'c-' + s.class : undefined} key=${i}>${s.text}</span>`);
const what = {'+': 'added', '-': 'removed', ' ': ''};

function One({h}) {
  return html`<table class="diff"><tbody>${h.lines.map((l, i) => [
    html`<tr key=${i} class=${'op' + (l.op === '+' ? ' add' : l.op === '-' ? ' del' : '')}><td class="n">${l.old || ''}</td><td class="n">${l.new || ''}</td>
      <td class="op" aria-label=${what[l.op]}>${l.op}</td><td class="code"><${Spans} l=${l} /></td></tr>`,
    l.found && html`<tr key=${'f' + i}><td colspan="3"></td><td>${l.found.map(f => html`<${Found} f=${f} />`)}</td></tr>`])}</tbody></table>`;
}

function pairs(lines) {
  const out = [];
  let dels = [], adds = [];
  const flush = () => { for (let i = 0; i < Math.max(dels.length, adds.length); i++) out.push([dels[i], adds[i]]); dels = []; adds = []; };
  for (const l of lines) { if (l.op === '-') dels.push(l); else if (l.op === '+') adds.push(l); else { flush(); out.push([l, l]); } }
  flush();
  return out;
}

function Two({h}) {
  const side = (l, n, op) => l ? html`<td class="n">${l[n]}</td><td class=${'code' + (l.op === op ? (op === '+' ? ' add' : ' del') : '')}><${Spans} l=${l} /></td>` : html`<td class="n"></td><td class="code none"></td>`;
  return html`<table class="diff both"><tbody>${pairs(h.lines).map(([a, b], i) => {
    const found = [...(a && a.found || []), ...(b && b !== a && b.found || [])];
    return [html`<tr key=${i}>${side(a, 'old', '-')}${side(b, 'new', '+')}</tr>`,
      found.length > 0 && html`<tr key=${'f' + i}><td></td><td colspan="3">${found.map(f => html`<${Found} f=${f} />`)}</td></tr>`];
  })}</tbody></table>`;
}

function File({f, text, both, whole, taken, take}) {
  const dangers = f.found.length + f.hunks.reduce((n, h) => n + h.lines.reduce((m, l) => m + (l.found || []).length, 0), 0);
  const more = f.cut || f.hunks.some(h => h.lines.some(l => (l.found || []).some(x => x.kind === 'unseen')));
  return html`<details class="file" open id=${'f-' + f.path}><summary><b>${f.path}</b> <span class="quiet">${f.kind}${f.mode ? ', mode ' + f.mode : ''}</span> ${' '}
      <span class="plus">+${f.added}</span> <span class="minus">−${f.deleted}</span>${dangers > 0 && html` <span class="bad">${count(dangers, 'finding')}</span>`}</summary>
    ${take && html`<p><label class="check"><input type="checkbox" checked=${taken} onChange=${e => take(f.path, e.target.checked)} /> take this file</label></p>`}
    ${f.found.map(x => html`<${Found} f=${x} />`)}
    ${f.binary && html`<p class="quiet">A binary file.</p>`}
    ${f.hunks.map((h, i) => html`<div class="wide hunk" tabindex="0" key=${i} aria-label=${'Lines of ' + f.path}><p class="quiet head">${h.head}</p>${both ? html`<${Two} h=${h} />` : html`<${One} h=${h} />`}</div>`)}
    ${more && html`<p><button type="button" onClick=${() => whole(f.path)}>Show more of it</button> <a href=${'/api/v1/sessions/' + text(f.path)} target="_blank">See it whole, as text</a></p>`}</details>`;
}

function Take({id, c, s, live, done, files}) {
  const [held, setHeld] = useState(null), [took, setTook] = useState([]), [text, setText] = useState('');
  const partial = s && s.state !== 'done' && s.state !== 'pulled';
  const refused = e => { if (!e.held.length) return false; setHeld(e); return true; };
  return html`<div class="take">
    ${c.pulled ? c.whole ? html`<p class="good">It is on your branch ${c.branch}.</p>` : html`<p>It was taken, and all of it is at <code>refs/cco/${id}</code>. Branch ${c.branch} has not all of it: <code>git restore --source=refs/cco/${id} PATH</code> brings more.</p>` : html`<div class="row">
      <${Act} path=${'/sessions/' + id + '/pull'} main disabled=${live || c.examining} seen=${c.seen} body=${() => ({accept: took, partial, only: files})} onRefused=${refused} done=${() => { setHeld(null); done(); }}>${files.length ? 'Take ' + count(files.length, 'file') : partial ? 'Take what there is' : 'Take all'}</${Act}>
      <a class="button" href="/">Leave it</a></div>`}
    ${held && html`<fieldset><legend>This needs your consent. Nothing was changed.</legend>
      ${held.held.map(k => { const g = c.groups.find(x => x.kind === k); return html`<label class="check"><input type="checkbox" checked=${took.includes(k)}
        onChange=${e => setTook(t => e.target.checked ? [...t, k] : t.filter(x => x !== k))} /> <b>${k}</b> ${g ? g.says + ' (' + g.danger + ' danger' + (g.response === 'refuse' ? ', your settings refuse it' : '') + ')' : ''}</label>`; })}
      <p class="quiet">Mark what you have read and take, then press Take again.</p></fieldset>`}
    <div class="row"><label class="grow"><span class="hidden">Go on with a comment</span><textarea rows="2" placeholder="Go on with a comment" value=${text} onInput=${e => setText(e.target.value)}></textarea></label>
      <${Act} path=${'/sessions/' + id + '/continue'} seen=${s && s.seen} body=${() => ({text})} disabled=${live || !s || !text.trim()} done=${() => setText('')}>Go on with it</${Act}></div></div>`;
}

export function Changes({id}) {
  const [commit, setCommit] = useState(''), [only, setOnly] = useState(''), [both, setBoth] = useState(false), [again, setAgain] = useState(0), [files, setFiles] = useState([]);
  // What it does meanwhile is read anew: it went on, or another took it.
  const st = state.value, mark = st && [...st.live, ...st.recent].find(v => v.id === id), live = st && st.live.includes(mark), when = again + runOf(mark);
  const {v: s} = useAsk('/sessions/' + id, when);
  const q = new URLSearchParams();
  if (commit) q.set('commit', commit);
  if (only) q.set('file', only);
  const {v: c, e} = useAsk(`/sessions/${id}/changes?` + q, when);
  const [kept, keep] = useState(null);
  useEffect(() => {
    if (c) keep(c);
    const timer = c && c.examining && setTimeout(() => setAgain(n => n + 1), 1000);
    return () => clearTimeout(timer);
  }, [c]);
  const shown = c || kept;
  const text = file => { const p = new URLSearchParams(); if (commit) p.set('commit', commit); if (file) p.set('file', file); return id + '/patch?' + p; };
  const head = html`<h1>What came back${s ? ': ' + (s.title || id) : ''}</h1><p><a href=${'/session/' + id}>Session ${id}</a></p>`;
  if (e) return html`${head}<${Oops} e=${e} />`;
  if (!shown) return html`${head}<p class="quiet">What it did is being unpacked in quarantine and examined.</p>`;
  if (!shown.commits.length && !shown.wip) return html`${head}<p>It made no commits.</p>`;
  return html`${head}
    <p>${count(shown.commits.length, 'commit')}, <span class="plus">+${shown.added}</span> <span class="minus">−${shown.deleted}</span>, ${short(shown.base)} → ${short(shown.tip)}${shown.pulled ? '' : ', in quarantine: no branch has moved'}${shown.wip ? '; something was left uncommitted, and comes to refs/cco/' + id + '-wip' : ''}</p>
    ${shown.groups.length > 0 && html`<section class="gate" aria-label="What you must know"><h2>What you must know</h2>${shown.groups.map(g => html`<details key=${g.kind} open=${g.danger === 'high'} class=${'group ' + g.danger}>
      <summary><b>${g.kind}</b> ${g.says} <span class="quiet">(${g.count}; ${g.danger} danger${g.response === 'tell' ? '' : g.response === 'ask' ? '; needs your consent' : '; refused by your settings'})</span></summary>
      <ul>${g.findings.map(f => html`<li>${f}</li>`)}${g.count > g.findings.length && html`<li>and ${g.count - g.findings.length} more</li>`}</ul></details>`)}</section>`}
    <p role="status">${shown.examining && 'The gate is still looking at it: what you must know follows.'}</p>
    ${shown.notes.map(n => html`<p class="bad">${n}</p>`)}
    ${live && html`<p class="bad">It is at work again: this is what it had made before. What it makes is shown when it has ended.</p>`}
    <${Take} id=${id} c=${shown} s=${s} live=${live} files=${files} done=${() => setAgain(n => n + 1)} />
    <div class="row tools"><label>Commit <select value=${commit} onChange=${ev => { setOnly(''); setCommit(ev.target.value); }}><option value="">all of them</option>
        ${shown.commits.map(k => html`<option value=${k.commit}>${short(k.commit)} ${k.subject}</option>`)}</select></label>
      <label class="check"><input type="checkbox" checked=${both} onChange=${ev => setBoth(ev.target.checked)} /> side by side</label>
      ${only && html`<button type="button" onClick=${() => setOnly('')}>All files</button>`}</div>
    ${shown.cut && html`<p class="bad">The change is too long to be shown here whole. Choose a commit, or <a href=${'/api/v1/sessions/' + text('')} target="_blank">see it whole, as text</a>.</p>`}
    ${shown.files.map(f => html`<${File} f=${f} text=${text} both=${both} whole=${setOnly} key=${f.path} taken=${files.includes(f.path)}
      take=${!shown.pulled && !commit && ((p, on) => setFiles(l => on ? [...l, p] : l.filter(x => x !== p)))} />`)}`;
}
