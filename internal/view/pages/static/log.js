// What was decided on this page, when, and from where.
import {html, useAsk, useTitle, Empty, Icon, Oops, Soon, day} from '/assets/app.js';

const browser = who => {
  const m = who.match(/(Firefox|Edg|Chrome|Safari)\/(\d+)/),
    id = who.match(/^browser (\S+)/);
  return m ? m[1].replace('Edg', 'Edge') + ' ' + m[2] + (id ? ', ' + id[1] : '') : who;
};
export function Log() {
  useTitle('Log');
  const {v, e} = useAsk('/log', 0);
  return html`
    <main id="main" tabindex="-1" class="page">
      <h1 class="sr">What was done here</h1>
      <${Oops} e=${e} />
      ${!v && !e && html`<${Soon} />`}
      ${v && !v.length && html`
        <${Empty} icon="log" head="Nothing yet">What is decided on this page stands here.</${Empty}>
      `}
      ${v && v.length > 0 && html`
        <section class="card">
          <h2>What was done here</h2>
          <table class="tab fx log">
            <thead>
              <tr>
                <th class="w3a">When</th>
                <th class="w3">What</th>
                <th class="w2 dk">On</th>
                <th>What came of it</th>
                <th class="w3 dk">From</th>
              </tr>
            </thead>
            <tbody>
              ${v.map((d, i) => {
                const ok = /^(asked|done)/.test(d.result);
                return html`
                  <tr key=${i}>
                    <td class="m s"><time title=${new Date(d.at).toLocaleString()}>${day(d.at)}</time></td>
                    <td>
                      <span class="f">
                        <${Icon}
                          of=${!ok ? 'fail' : d.result === 'asked' ? 'run' : 'done'}
                          c=${!ok ? 'bad' : d.result === 'asked' ? 'm' : 'ok'}
                        />
                        <span class="cut">${d.what}</span>
                      </span>
                    </td>
                    <td class="mono m dk"><span class="cut blk">${d.on}</span></td>
                    <td>
                      <span class=${'cut blk ' + (ok ? '' : 'bad')} title=${d.result}>
                        ${d.result.replace(/^done: /, '')}
                      </span>
                      ${d.decided && d.decided !== '{}' && html`
                        <code class="m cut blk" title=${d.decided}>${d.decided}</code>
                      `}
                    </td>
                    <td class="m s dk">
                      <span class="cut blk" title=${d.browser}>${browser(d.browser)}</span>
                    </td>
                  </tr>
                `;
              })}
            </tbody>
          </table>
        </section>
      `}
    </main>
  `;
}
