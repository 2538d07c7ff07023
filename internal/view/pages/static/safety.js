// What keeps a box shut, what left it, and what was refused.
import {html, useAsk, useState, useEffect, now, Act, Oops, Wrong, State, Ago, bytes} from '/assets/app.js';

const Wide = ({label, children}) => html`<div class="wide" tabindex="0" role="region" aria-label=${label}>${children}</div>`;

export function Safety({id}) {
  const [again, setAgain] = useState(0), tick = Math.floor(now.value / 5000);
  const {v: s, e} = useAsk('/boxes/' + encodeURIComponent(id), again + '.' + tick), [kept, keep] = useState(null);
  useEffect(() => { if (s) keep(s); }, [s]);
  const b = s || kept, head = html`<h1>Safety of box ${id}</h1>`;
  if (e && !b) return html`${head}<${Oops} e=${e} />`;
  if (!b) return head;
  const to = '/boxes/' + encodeURIComponent(id), done = () => setAgain(n => n + 1), v = b.verify, broken = v ? v.results.filter(x => !x.held && x.promised) : [];
  return html`${head}<${Wrong} of=${b.wrong} /><p class="quiet">${b.box.backend} · <${State} of=${b.box.state} /> · network ${b.box.network} · ${b.box.live} sessions at work</p>
    <h2>Layers</h2><${Wide} label="Layers"><table><thead><tr><th>Layer</th><th>Holds</th><th>How</th></tr></thead><tbody>${b.layers.map(l => html`<tr key=${l.name}><td>${l.name}</td>
      <td class=${l.active ? 'good' : 'bad'}>${l.active ? 'yes' : 'NO'}</td><td>${l.detail} ${!l.active && l.mend}</td></tr>`)}</tbody></table></${Wide}>
    <h2>Last verify</h2>${v ? html`<p class=${broken.length ? 'bad' : 'good'}>${v.results.filter(x => x.held).length} of ${v.results.length} attacks held, <${Ago} at=${v.at} /> ago.</p>${broken.map(x => html`<p class="bad">${x.probe}: ${x.what}: ${x.detail}</p>`)}` : html`<p class="quiet">It was never attacked.</p>`}
    <p><${Act} path=${to + '/verify'} done=${done}>Attack it now</${Act}></p>
    <h2>Refused</h2>${b.refused.length ? html`<p>${b.caution}</p><${Wide} label="Refused"><table><thead><tr><th>Host</th><th>Why</th><th>Times</th><th>Session</th><th>Last</th><th>Allow</th></tr></thead><tbody>${b.refused.map(r => html`<tr key=${r.host + r.reason}>
      <td><b>${r.host}</b></td><td>${r.reason}</td><td>${r.count}</td><td>${r.session}</td><td><${Ago} at=${r.last} /></td>
      <td>${r.allow && html`<${Act} path=${to + '/allow'} body=${{host: r.allow}} danger sure=${'Yes, allow ' + r.allow} done=${done}>Allow ${r.allow}</${Act}>`}</td></tr>`)}</tbody></table></${Wide}>` : html`<p class="quiet">Nothing was refused.</p>`}
    <h2>What left</h2>${b.left.length ? html`<${Wide} label="What left"><table><thead><tr><th>Host</th><th>By rule</th><th>Out</th><th>In</th><th>Times</th><th>Session</th><th>Last</th></tr></thead><tbody>${b.left.map(r => html`<tr key=${r.host + r.rule}>
      <td><b>${r.host}</b></td><td>${r.rule}</td><td>${bytes(r.out)}</td><td>${bytes(r.in)}</td><td>${r.count}</td><td>${r.session}</td><td><${Ago} at=${r.last} /></td></tr>`)}</tbody></table></${Wide}>` : html`<p class="quiet">Nothing left it.</p>`}
    <h2>Guard</h2>${b.denials.length ? html`<ol class="log">${b.denials.map((d, i) => html`<li key=${i}><time>${new Date(d.time).toLocaleString()}</time> <a href=${'/session/' + d.session}>${d.session}</a> <b class=${d.kind === 'denial' ? 'bad' : ''}>${d.kind}</b> ${[d.rule, d.tool_name].filter(Boolean).join(' ')} <span>${d.reason}</span></li>`)}</ol>` : html`<p class="quiet">The guard said nothing here.</p>`}
    <h2>What may leave it</h2><ul>${b.allowed.map(a => html`<li><b>${a.rule}</b> <span class="quiet">${a.from}</span></li>`)}</ul>`;
}
