// What was spent, as plots and as tables, and the limits.
import {html, useAsk, useEffect, useRef, useState, state, Act, Oops, Part, Wrong, money, tokens, used} from '/assets/app.js';

async function plot(el, days) {
  if (!document.querySelector('link[href="/assets/vendor/uplot.css"]')) document.head.append(Object.assign(document.createElement('link'), {rel: 'stylesheet', href: '/assets/vendor/uplot.css'}));
  const {default: uPlot} = await import('/assets/vendor/uplot.mjs');
  const css = getComputedStyle(document.documentElement), ink = css.getPropertyValue('--quiet'), line = css.getPropertyValue('--line'), bar = css.getPropertyValue('--accent');
  const cost = days.some(d => d.cost > 0);
  el.replaceChildren();
  const u = new uPlot({width: el.clientWidth, height: 220, legend: {show: false}, cursor: {show: false},
    scales: {x: {time: true}, y: {range: (u, lo, hi) => [0, hi || 1]}},
    axes: [{stroke: ink, grid: {show: false}, ticks: {stroke: line}}, {stroke: ink, grid: {stroke: line}, ticks: {stroke: line}, size: 60, values: (u, v) => v.map(x => cost ? '$' + x : tokens(x))}],
    series: [{}, {stroke: bar, fill: bar, paths: uPlot.paths.bars({size: [0.6, 40]}), points: {show: false}}]},
    [days.map(d => new Date(d.name + 'T12:00').getTime() / 1000), days.map(d => cost ? d.cost : used(d))], el);
  return () => u.destroy();
}

function Plot({days}) {
  const el = useRef(null), mark = days.map(d => d.name + d.cost + used(d)).join();
  useEffect(() => {
    let end, gone = false;
    const draw = () => plot(el.current, days).then(f => { if (gone) f(); else { if (end) end(); end = f; } });
    draw();
    const dark = matchMedia('(prefers-color-scheme: dark)');
    addEventListener('resize', draw); dark.addEventListener('change', draw);
    return () => { gone = true; removeEventListener('resize', draw); dark.removeEventListener('change', draw); if (end) end(); };
  }, [mark]);
  return html`<div class="plot" ref=${el} role="img" aria-label="What each day cost; the table below says the same"></div>`;
}

const Limit = ({name, used, most, words}) => most ? html`<p><label>${name} <meter min="0" max=${most} value=${Math.min(used, most)} high=${most * .8} optimum="0"></meter> ${words(used)} of ${words(most)}</label></p>` : null;
function Raise({limits, done}) {
  const [name, setName] = useState('limits.day_cost'), [value, setValue] = useState('');
  return html`<div class="row"><label>Limit <select value=${name} onChange=${e => setName(e.target.value)}>
      <option value="limits.day_cost">dollars of a day</option><option value="limits.day_tokens">tokens of a day</option>
      <option value="limits.run_cost">dollars of a run</option><option value="limits.run_tokens">tokens of a run</option></select></label>
    <label>to <input size="8" value=${value} placeholder="25 or none" onInput=${e => setValue(e.target.value)} /></label>
    <${Act} path="/limits" body=${() => ({name, value: value.trim(), was: limits[name.slice(7)] || 0})} disabled=${!value.trim()} done=${done}>Set it in your settings</${Act}></div>`;
}
const Sums = ({name, list}) => list.length > 0 && html`<h2>${name}</h2><div class="wide" tabindex="0" role="region" aria-label=${name}><table><tbody>${list.map(x => html`<tr key=${x.name}><td>${x.name}</td><td>${money(x)}</td><td class="quiet">${tokens(used(x))} tokens</td></tr>`)}</tbody></table></div>`;

export function Money() {
  const st = state.value, [again, setAgain] = useState(0), {v: m, e} = useAsk('/money', (st ? used(st.today) : 0) + '.' + again);
  if (e) return html`<h1>Money</h1><${Oops} e=${e} />`;
  if (!m) return html`<h1>Money</h1>`;
  const dollars = n => '$' + n.toFixed(2), l = m.limits;
  const spent = m.days.filter(d => d.cost > 0 || used(d) > 0);
  return html`<h1>Money</h1><${Wrong} of=${m.wrong} />
    <p>Today: <b>${money(m.today) || 'nothing'}</b> <span class="quiet">${tokens(used(m.today))} tokens</span></p>
    <${Limit} name="Of today's dollars" used=${m.today.cost} most=${l.day_cost} words=${dollars} />
    <${Limit} name="Of today's tokens" used=${used(m.today)} most=${l.day_tokens} words=${tokens} />
    <${Raise} limits=${l} done=${() => setAgain(n => n + 1)} />
    <p class="quiet">One run: ${l.run_cost ? dollars(l.run_cost) : 'no limit of dollars'}, ${l.run_tokens ? tokens(l.run_tokens) + ' tokens' : 'no limit of tokens'}. A session that has reached its own is raised where it waits, on the home page.</p>
    ${spent.length > 0 && html`<h2>By day</h2><${Part}><${Plot} days=${m.days} /></${Part}><details><summary>As a table</summary><table><tbody>${spent.reverse().map(d => html`<tr key=${d.name}><td>${d.name}</td><td>${money(d)}</td><td class="quiet">${tokens(used(d))} tokens</td></tr>`)}</tbody></table></details>`}
    <${Sums} name="By agent" list=${m.agents} /><${Sums} name="By model" list=${m.models} /><${Sums} name="By repository" list=${m.repos} />
    ${m.sessions.length > 0 && html`<h2>Sessions</h2><div class="wide" tabindex="0" role="region" aria-label="Sessions"><table><tbody>${m.sessions.map(s => html`<tr key=${s.id}><td><a href=${'/session/' + s.id}>${s.title || s.id}</a></td><td>${money(s.spent)}</td><td class="quiet">${s.agent} ${s.state}</td></tr>`)}</tbody></table></div>`}
    ${m.phases.length > 0 && html`<h2>Phases</h2><div class="wide" tabindex="0" role="region" aria-label="Phases"><table><tbody>${m.phases.map(p => html`<tr key=${p.id}><td><a href=${'/phase/' + p.id}>${p.title || p.id}</a></td><td>${money(p)}</td><td class="quiet">${p.stage}</td></tr>`)}</tbody></table></div>`}`;
}
