// What left a session, and what was refused.
import {
  html,
  useAsk,
  now,
  Act,
  Ago,
  Oops,
  Soon,
  bytes,
  count,
} from '/assets/app.js';
import {Frame} from '/assets/head.js';

// Host is cut before its domain, and says its port where that is not the usual one.
export const Host = ({of: whole}) => {
  const of = whole.replace(/:443$/, ''),
    at = of.split(':')[0].split('.').slice(0, -2).join('.').length;
  return html`
    <span class="path" title=${whole}>
      <span>${at ? of.slice(0, at + 1) : ''}</span>
      <span>${at ? of.slice(at + 1) : of}</span>
    </span>
  `;
};
export function Left({list, title = 'What left'}) {
  const sum = list.reduce((n, l) => n + Math.max(0, l.out), 0),
    most = [...list].sort((a, b) => b.out - a.out);
  return html`
    <section class="card">
      <h2 class="f">
        ${title}
        <span class="m">${list.length ? count(list.length, 'host') + ', ' + bytes(sum) : ''}</span>
      </h2>
      ${list.length ? html`
        <table class="tab fx">
          <thead>
            <tr>
              <th>Host</th>
              <th class="dk">For</th>
              <th class="n w1 dk">Last</th>
              <th class="n w1">Times</th>
              <th class="n w5 dk">Received</th>
              <th class="n w5">Sent</th>
            </tr>
          </thead>
          <tbody>
            ${most.map(r => html`
              <tr key=${r.host + r.rule}>
                <td><${Host} of=${r.host} /></td>
                <td class="m dk"><span class="cut blk">${r.rule}</span></td>
                <td class="n m dk"><${Ago} at=${r.last} /></td>
                <td class="n">${r.count.toLocaleString()}</td>
                <td class="n m dk">${bytes(r.in)}</td>
                <td class="n">${bytes(r.out)}</td>
              </tr>
            `)}
          </tbody>
        </table>
      ` : html`
        <p class="m pad">Nothing.</p>
      `}
    </section>
  `;
}
// why leaves out the host, which stands beside it.
const why = r => (r.reason.startsWith(r.host + ' is ') ? r.reason.slice(r.host.length + 4) : r.reason);
export function Refused({list, box, caution, done}) {
  const to = '/boxes/' + encodeURIComponent(box) + '/allow';
  return html`
    <section class="card">
      <h2 class="f">
        What was refused
        <span class="m">${list.length ? count(list.length, 'host') : ''}</span>
      </h2>
      ${list.length ? html`
        <table class="tab fx">
          <thead>
            <tr>
              <th>Host</th>
              <th class="dk">Why</th>
              <th class="n w1 dk">Last</th>
              <th class="n w1">Times</th>
              <th class="n w6"><span class="sr">Action</span></th>
            </tr>
          </thead>
          <tbody>
            ${list.map(r => html`
              <tr key=${r.host + r.reason}>
                <td><${Host} of=${r.host} /></td>
                <td class="m dk"><span class="cut blk" title=${r.reason}>${why(r)}</span></td>
                <td class="n m dk"><${Ago} at=${r.last} /></td>
                <td class="n">${r.count}</td>
                <td class="n">
                  ${r.allow && html`
                    <${Act}
                      path=${to}
                      body=${{host: r.allow}}
                      danger
                      sure=${`Allow ${r.allow}? ${caution}`}
                      yes="Yes, allow"
                      label=${'Allow ' + r.allow}
                      done=${done}>
                      Allow
                    </${Act}>
                  `}
                </td>
              </tr>
            `)}
          </tbody>
        </table>
      ` : html`
        <p class="m pad">Nothing.</p>
      `}
    </section>
  `;
}
// byHost puts together what is allowed for one host. That of models says whose it is.
function byHost(list) {
  const hosts = new Map();
  for (const {rule, from} of list) {
    const host = rule.replace(/^https:\/\//, ''),
      model = /^the model of (\S+),/.exec(from)?.[1],
      of = hosts.get(host) || {models: [], from: []};
    if (model) of.models.push(model);
    else of.from.push(from);
    hosts.set(host, of);
  }
  return [...hosts];
}
const allowedBy = {'this box': 'allowed for this box', 'your settings': 'allowed in your settings'};
const whose = ({models, from}) =>
  [models.length ? 'for ' + models.join(', ') : '', ...from.map(x => allowedBy[x] || x)].filter(Boolean).join(', ');
export function MayLeave({list}) {
  const hosts = byHost(list);
  return html`
    <aside class="card" aria-label="What may leave">
      <h2 class="f">
        What may leave
        <span class="m">${hosts.length ? count(hosts.length, 'host') : ''}</span>
      </h2>
      <ul class="sect allowed">
        ${hosts.map(([host, of]) => html`
          <li key=${host}>
            <span class="blk any">${host}</span>
            <span class="m s">${whose(of)}</span>
          </li>
        `)}
        ${!hosts.length && html`<li class="m">Nothing.</li>`}
      </ul>
      ${hosts.some(([, of]) => of.models.length) && html`
        <p class="sect m s foot">cco adds your API keys outside the box.</p>
      `}
    </aside>
  `;
}
// OfBox is what the box of a session lets through.
function OfBox({name}) {
  const {v} = useAsk('/boxes/' + encodeURIComponent(name), 0);
  return v ? html`<${MayLeave} list=${v.allowed} />` : null;
}
const caution =
  'From now on every session of this box reaches the host, also those at work, ' +
  'and can send it whatever is in its workspace. “cco box net deny” takes it back.';

export function Network({id}) {
  const {v, e} = useAsk(`/sessions/${id}/network`, Math.floor(now.value / 5000));
  return html`
    <${Frame} id=${id} tab="/network">
      ${(s, done) => html`
        <div class="side talk">
          <main id="main" tabindex="-1" class="stack l">
            <h2 class="sr">Network</h2>
            <${Oops} e=${e} />
            ${v ? html`
              <${Left} list=${v.left} />
              <${Refused} list=${v.refused} box=${s.box} caution=${caution} done=${done} />
            ` : (
              !e && html`<${Soon} />`
            )}
          </main>
          <${OfBox} name=${s.box} />
        </div>
      `}
    </${Frame}>
  `;
}
