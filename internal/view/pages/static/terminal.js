// The terminal of a session. It can be looked at; a button takes the keyboard, and one page has it at a time.
import {html, useAsk, useEffect, useRef, useState, lost, act, calm, Oops} from '/assets/app.js';

// xterm.js inserts styles, which the page's policy allows with the nonce of this answer alone.
async function load() {
  const nonce = document.querySelector('head style').nonce, make = document.createElement.bind(document);
  document.createElement = (name, how) => { const e = make(name, how); if (String(name).toLowerCase() === 'style') e.nonce = nonce; return e; };
  if (!document.querySelector('link[href="/assets/vendor/xterm.css"]')) document.head.append(Object.assign(make('link'), {rel: 'stylesheet', href: '/assets/vendor/xterm.css'}));
  return (await import('/assets/vendor/xterm.mjs')).Terminal;
}

export function Terminal({id}) {
  const {v: s, e} = useAsk('/sessions/' + id, 0);
  if (e) return html`<h1>Terminal</h1><${Oops} e=${e} />`;
  return s ? html`<${Screen} id=${id} />` : html`<h1>Terminal</h1>`;
}

function Screen({id}) {
  const el = useRef(null), ws = useRef(null), term = useRef(null), has = useRef(false);
  const [who, setWho] = useState('reader'), [ended, setEnded] = useState(false), [taken, setTaken] = useState(false);
  useEffect(() => {
    let gone = false, timer;
    const say = m => { if (ws.current && ws.current.readyState === 1) ws.current.send(JSON.stringify(m)); };
    const again = () => { timer = setTimeout(open, 700); };
    const open = async () => {
      const got = await act('/tickets').catch(() => null);
      if (gone) return;
      if (!got) { again(); return; }
      const s = ws.current = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/v1/sessions/${id}/terminal`, ['cco', 'ticket.' + got.ticket]);
      s.binaryType = 'arraybuffer';
      s.onopen = () => { lost.value = false; term.current.reset(); has.current = false; setWho('reader'); setEnded(false); };
      s.onmessage = m => {
        if (m.data instanceof ArrayBuffer) { term.current.write(new Uint8Array(m.data)); return; }
        const v = JSON.parse(m.data);
        if (v.kind === 'size' && v.cols > 0) { term.current.write('', () => term.current.resize(v.cols, v.rows)); setEnded(false); }
        if (v.kind === 'writer' || v.kind === 'reader') { setTaken(has.current && v.kind === 'reader'); has.current = v.kind === 'writer'; setWho(v.kind); term.current.options.disableStdin = !has.current; if (has.current) { fit(); term.current.focus(); } }
        if (v.kind === 'ended') setEnded(true);
      };
      s.onclose = () => { if (!gone) again(); };
    };
    const fit = () => {
      if (!has.current || !term.current.element) return;
      const screen = term.current.element.querySelector('.xterm-screen'), t = term.current;
      const w = screen.clientWidth / t.cols, h = screen.clientHeight / t.rows;
      if (!(w > 0 && h > 0)) return;
      const cols = Math.max(20, Math.floor((el.current.clientWidth - 20) / w)), rows = Math.max(5, Math.floor((innerHeight - el.current.getBoundingClientRect().top - 30) / h));
      if (cols !== t.cols || rows !== t.rows) say({cols, rows});
    };
    load().then(T => {
      if (gone) return;
      const t = term.current = new T({disableStdin: true, scrollback: 5000, screenReaderMode: true, fontSize: 14, linkHandler: {activate() {}}, theme: {background: '#111318', foreground: '#e6e6e6'}});
      t.open(el.current);
      // Tab is the program's: this leaves.
      t.attachCustomKeyEventHandler(k => { if (k.key !== 'Escape' || !k.shiftKey) return true; document.getElementById('main').focus(); return false; });
      t.onData(d => { if (has.current) say({data: d}); });
      open();
      addEventListener('resize', fit);
    });
    return () => { gone = true; clearTimeout(timer); removeEventListener('resize', fit); if (ws.current) ws.current.close(); if (term.current) term.current.dispose(); };
  }, [id]);
  const take = () => calm.value && ws.current.send(JSON.stringify({take: true}));
  return html`<h1>Terminal</h1><p class="row"><a href=${'/session/' + id}>Session ${id}</a>
      ${who === 'writer' ? html`<b class="good">You have the keyboard.</b> <span class="quiet">Shift+Esc leaves the screen.</span>` : html`<button type="button" class="main" onClick=${take} disabled=${ended} aria-disabled=${calm.value ? undefined : 'true'}>Take the keyboard</button>`}
      ${taken && !ended && html`<span role="status">It was taken elsewhere.</span>`}${ended && html`<span class="quiet">The agent has ended.</span>`}</p>
    <div class="terminal" ref=${el}></div>`;
}
