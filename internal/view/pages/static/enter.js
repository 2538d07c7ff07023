// What everybody gets who can name this page: it takes a code, and knows nothing else.
const page = document.getElementById('page');

async function enter(code) {
  const r = await fetch('/api/v1/enter', {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({code}),
  });
  if (r.ok) return '';
  const said = await r.json().catch(() => ({}));
  return said.error || 'it is refused: ' + r.status;
}

function form(why) {
  document.title = 'cco: come in';
  const el = (name, props, ...kids) => {
    const e = Object.assign(document.createElement(name), props);
    e.append(...kids);
    return e;
  };
  const input = el('input', {
    id: 'code',
    className: 'in',
    autocomplete: 'off',
    spellcheck: false,
    autocapitalize: 'none',
  });
  const says = el('p', {id: 'says', className: 'bad'}, why || '');
  says.setAttribute('role', 'alert');
  const f = el(
    'form',
    {className: 'enter'},
    el('h1', {}, 'cco'),
    el('p', {}, 'Come in with the code that `cco view code` prints. It lives a minute, and once.'),
    el('label', {htmlFor: 'code'}, 'Code'),
    input,
    el('button', {className: 'btn fill'}, 'Come in'),
    says,
  );
  f.addEventListener('submit', async e => {
    e.preventDefault();
    const wrong = await enter(input.value).catch(String);
    if (wrong) {
      says.textContent = wrong;
      input.select();
    } else location.reload();
  });
  page.replaceChildren(el('main', {}, f));
  document.documentElement.toggleAttribute('data-calm', true); // there is nothing here that others could have pressed
  input.focus();
}

const code = new URLSearchParams(location.hash.slice(1)).get('code');
let why = '';
if (code !== null) {
  history.replaceState(null, '', location.pathname + location.search); // it stays nowhere
  why = await enter(code).catch(String);
  if (!why) {
    location.reload();
    await new Promise(() => {});
  } // what was refused before is asked for again
}
const first = fetch('/api/v1/state').catch(() => null); // while the program comes
try {
  await (await import('/assets/app.js')).start(first);
} catch {
  const said = await first;
  if (said && said.status === 401) form(why);
  else {
    // something was lost on the way
    page.textContent = 'cco view does not answer. This page tries again.';
    setTimeout(() => location.reload(), 1000);
  }
}
