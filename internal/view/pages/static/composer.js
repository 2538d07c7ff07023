// What is to be done, where, by whom and for how much: it starts a run, once.
import {
  html,
  act,
  ask,
  told,
  wants,
  calm,
  signal,
  state,
  useEffect,
  useRef,
  useState,
  useTitle,
  Copy,
  base,
  dollars,
  Icon,
} from '/assets/lib.js';

const bench = signal(null);
const draft = signal({text: '', repo: '', agents: '', budget: ''}); // it is the same on Home and on its own page
const draw = () =>
  [...crypto.getRandomValues(new Uint8Array(12))].map(b => b.toString(16).padStart(2, '0')).join('');
let key = draw(),
  under = false;

function useBench() {
  useEffect(() => {
    if (!bench.value)
      ask('/bench').then(
        v => {
          bench.value = v;
          wrong.value = '';
        },
        e => {
          wrong.value = 'Nothing can be started: ' + e.message;
        },
      );
  }, []);
  return bench.value;
}
const wrong = signal('');
// whyNot says why nothing can be started, if it can't.
function whyNot(b) {
  if (b && !b.repos.length) return 'No repository is known here: `cco view DIR` names one.';
  return b && !b.agents.length ? 'No agent is ready on this machine.' : wrong.value;
}

// choices are the agents alone, and the first two together.
const choices = b =>
  b.agents.filter(a => a !== 'script').length > 1
    ? [...b.agents, b.agents.slice(0, 2).join(' + ')]
    : b.agents;
const budgets = b => [...new Set([b.budget, 1, 3, 10, 25])].sort((x, y) => x - y);

export function Composer({big, started}) {
  const b = useBench(),
    [busy, setBusy] = useState(false),
    d = draft.value,
    area = useRef(null);
  const set = (k, v) => {
    draft.value = {...draft.value, [k]: v};
  };
  const repo = d.repo || b?.repos[0]?.path || '',
    agents = d.agents || b?.agents[0] || '',
    budget = d.budget || b?.budget || 0,
    not = whyNot(b);
  const may = b && repo && agents;
  const start = async e => {
    e?.preventDefault();
    if (!may || under || !calm.value) return;
    if (!d.text.trim()) {
      wants(area.current, 'Say what is to be done');
      return;
    }
    under = true;
    setBusy(true);
    told.value = null;
    try {
      const r = await act('/runs', {
        text: d.text,
        repo,
        agents: agents.split(' + '),
        budget: Number(budget),
        key,
      });
      key = draw(); // the next one is another
      draft.value = {...draft.value, text: ''};
      told.value = {says: r.says};
      if (started) started(r.says);
    } catch (e) {
      told.value = {bad: true, says: [e.message]};
    }
    under = false;
    setBusy(false);
  };
  const send = e => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) start(e);
  };
  const pick = (name, k, value, list, words = x => x) => html`
    <select aria-label=${name} value=${value} onChange=${e => set(k, e.target.value)}>
      ${list.map(x => html`
        <option key=${x} value=${x}>${words(x)}</option>
      `)}
    </select>
  `;
  const options = html`
    ${pick('Repository', 'repo', repo, b ? b.repos.map(r => r.path) : [], p => {
      const r = b.repos.find(x => x.path === p);
      return base(p) + (r.branch && big ? ' · ' + r.branch : '');
    })}
    ${pick('Agents', 'agents', agents, b ? choices(b) : [])}
    ${pick(
      'Budget',
      'budget',
      budget,
      b ? budgets(b) : [],
      n => (big ? 'at most ' : '') + dollars(Number(n)),
    )}
  `;
  const button = html`
    <button
      type="submit"
      class=${'btn' + (big ? ' fill end' : '')}
      disabled=${!b || Boolean(not) || busy}
      aria-disabled=${calm.value ? undefined : 'true'}
      data-act="/runs">
      Start
    </button>
  `;
  if (big)
    return html`
      <form class="card compose" onSubmit=${start}>
        <label class="sr" for="task">What is to be done?</label>
        <textarea
          ref=${area}
          id="task"
          rows="6"
          onKeyDown=${send}
          value=${d.text}
          onInput=${e => set('text', e.target.value)}
          placeholder=${example}></textarea>
        <div class="opts f wrap">
          ${not ? html`<p class="bad s any" role="alert">${not}</p>` : options}
          ${button}
        </div>
      </form>
    `;
  return html`
    <section class="new" aria-label="New run">
      <form onSubmit=${start}>
        <${Icon} of="plus" c="m" />
        <textarea
          ref=${area}
          class="in grow"
          rows="1"
          aria-label="What is to be done?"
          placeholder="What is to be done?"
          value=${d.text}
          onInput=${e => set('text', e.target.value)}
          onKeyDown=${send}></textarea>
        ${not ? html`<p class="bad s cut" role="alert" title=${not}>${not}</p>` : options}
        ${button}
      </form>
    </section>
  `;
}

const example =
  'Checkout loses the cart when two requests come at once. ' +
  'Find out why, mend it, and add a test that fails without the change.';

const plans = [
  [
    'Fix a flaky test',
    'Find the cause, run it 50 times',
    'One of our tests fails now and then. Find out which and why, fix the cause and not the symptom, ' +
      'and run it 50 times to show that it holds.',
  ],
  [
    'Review my last commit',
    'Findings only, nothing changes',
    'Read the last commit as a strict reviewer would. Say what is wrong or missing, ' +
      'with file and line, the worst first. Change nothing.',
  ],
  [
    'Upgrade a dependency',
    'One at a time, tests after each',
    'Upgrade the dependencies that are behind, one at a time. Run the tests after each, ' +
      'commit each by itself, and leave out what breaks them.',
  ],
];

export function Samples() {
  return html`
    <section>
      <h2>Or begin with one of these</h2>
      <ul class="exs">
        ${plans.map(([name, says, text]) => html`
          <li key=${name}>
            <button
              type="button"
              class="card"
              onClick=${() => {
                draft.value = {...draft.value, text};
                document.getElementById('task')?.focus();
              }}>
              <b>${name}</b>
              <span class="m s blk">${says}</span>
            </button>
          </li>
        `)}
      </ul>
    </section>
  `;
}

export function Begin({first, started}) {
  return html`
    <div class="page mid stack l">
      <div>
        <h1>What is to be done?</h1>
        <p class="m">
          ${first ? 'Nothing has run yet. Say what is to be done; the agent' : 'An agent'} works in a box of its
          own, and what it commits waits here for you.
        </p>
      </div>
      <${Composer} big started=${started} />
      <${Samples} />
      <section class="dk">
        <h2>From a terminal</h2>
        <div class="cmd f">
          <code class="cut">cco run plan.md</code>
          <${Copy} of="cco run plan.md" quiet />
        </div>
        <p class="m s">The session is here as soon as it has started.</p>
      </section>
    </div>
  `;
}

export function New() {
  useTitle('New run');
  return html`
    <main id="main" tabindex="-1">
      <${Begin}
        started=${() => {
          if (state.value) document.querySelector('.tabbar a, .top nav a').click();
        }}
      />
    </main>
  `;
}
