// The terminal of a session. It can be looked at; a button takes the keyboard, and one page has it at a time.
import {html, useEffect, useRef, useState, lost, act, calm, Empty, Icon} from '/assets/app.js';
import {Frame} from '/assets/head.js';

// xterm.js inserts styles, which the page's policy allows with the nonce of this answer alone.
async function load() {
  const nonce = document.querySelector('head style').nonce,
    make = document.createElement.bind(document);
  document.createElement = (name, how) => {
    const e = make(name, how);
    if (String(name).toLowerCase() === 'style') e.nonce = nonce;
    return e;
  };
  if (!document.querySelector('link[href="/assets/vendor/xterm.css"]'))
    document.head.append(
      Object.assign(make('link'), {rel: 'stylesheet', href: '/assets/vendor/xterm.css'}),
    );
  return (await import('/assets/vendor/xterm.mjs')).Terminal;
}

export function Terminal({id}) {
  return html`
    <${Frame} id=${id} tab="/terminal">
      ${s =>
        s.terminal ? html`
          <${Screen} id=${id} key=${id} />
        ` : html`
          <main id="main" tabindex="-1">
            <${Empty} icon="run" head="It has no terminal">
              Its agent works without one; the transcript says what it does.
            </${Empty}>
          </main>
        `
      }
    </${Frame}>
  `;
}

// keys that a phone's keyboard lacks; Ctrl holds for the next letter.
const keys = [
  ['Esc', '\x1b'],
  ['Tab', '\t'],
  ['Up', '\x1b[A', 'up'],
  ['Down', '\x1b[B', 'down'],
  ['Left', '\x1b[D', 'left'],
  ['Right', '\x1b[C', 'right'],
];

// What a program draws with has Primer's dark colours: a terminal is dark.
const colours = {
  background: '#0d1117',
  foreground: '#f0f6fc',
  black: '#484f58',
  red: '#ff7b72',
  green: '#3fb950',
  yellow: '#d29922',
  blue: '#58a6ff',
  magenta: '#bc8cff',
  cyan: '#39c5cf',
  white: '#b1bac4',
  brightBlack: '#8b949e',
  brightRed: '#ffa198',
  brightGreen: '#56d364',
  brightYellow: '#e3b341',
  brightBlue: '#79c0ff',
  brightMagenta: '#d2a8ff',
  brightCyan: '#56d4dd',
  brightWhite: '#ffffff',
};

function Screen({id}) {
  const el = useRef(null),
    ws = useRef(null),
    term = useRef(null),
    has = useRef(false);
  const [who, setWho] = useState('reader'),
    [joined, setJoined] = useState(false),
    [ended, setEnded] = useState(false),
    [taken, setTaken] = useState(false),
    [ctrl, setCtrl] = useState(false),
    held = useRef(false);
  held.current = ctrl;
  useEffect(() => {
    let gone = false,
      timer;
    const say = m => {
      if (ws.current && ws.current.readyState === 1) ws.current.send(JSON.stringify(m));
    };
    const again = () => {
      timer = setTimeout(open, 700);
    };
    const open = async () => {
      const got = await act('/tickets').catch(() => null);
      if (gone) return;
      if (!got) {
        again();
        return;
      }
      const s = (ws.current = new WebSocket(
        `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/v1/sessions/${id}/terminal`,
        ['cco', 'ticket.' + got.ticket],
      ));
      s.binaryType = 'arraybuffer';
      s.onopen = () => {
        lost.value = false;
        term.current.reset();
        has.current = false;
        setWho('reader');
        setEnded(false);
        setJoined(true);
      };
      s.onmessage = m => {
        if (m.data instanceof ArrayBuffer) {
          term.current.write(new Uint8Array(m.data));
          return;
        }
        const v = JSON.parse(m.data);
        if (v.kind === 'size' && v.cols > 0) {
          term.current.write('', () => term.current.resize(v.cols, v.rows));
          setEnded(false);
        }
        if (v.kind === 'writer' || v.kind === 'reader') {
          setTaken(has.current && v.kind === 'reader');
          has.current = v.kind === 'writer';
          setWho(v.kind);
          term.current.options.disableStdin = !has.current;
          if (has.current) {
            fit();
            term.current.focus();
          }
        }
        if (v.kind === 'ended') setEnded(true);
      };
      s.onclose = () => {
        if (gone) return;
        setJoined(false);
        again();
      };
    };
    // fit asks for as many columns and rows as there is room for, by the size that a character has now.
    const fit = () => {
      const t = term.current,
        screen = t?.element?.querySelector('.xterm-screen');
      if (gone || !has.current || !screen) return;
      const w = screen.clientWidth / t.cols,
        h = screen.clientHeight / t.rows;
      if (!(w > 0 && h > 0)) return;
      const cols = Math.min(200, Math.max(20, Math.floor((t.element.clientWidth - 4) / w))),
        rows = Math.max(5, Math.floor((el.current.clientHeight - 16) / h));
      if (cols !== t.cols || rows !== t.rows) say({cols, rows});
    };
    const sizes = new ResizeObserver(fit); // of the room, and of the screen when it has been drawn
    load().then(T => {
      if (gone) return;
      const t = (term.current = new T({
        disableStdin: true,
        scrollback: 5000,
        screenReaderMode: true,
        fontSize: innerWidth < 761 ? 12 : 13,
        linkHandler: {activate() {}},
        lineHeight: 1.2,
        fontFamily: getComputedStyle(document.documentElement).getPropertyValue('--mono'),
        theme: colours,
      }));
      t.open(el.current);
      // Tab is the program's: this leaves.
      t.attachCustomKeyEventHandler(k => {
        if (k.key !== 'Escape' || !k.shiftKey) return true;
        document.getElementById('main').focus();
        return false;
      });
      t.onData(d => {
        if (!has.current) return;
        if (held.current && /^[a-z]$/i.test(d)) {
          d = String.fromCharCode(d.toUpperCase().charCodeAt(0) - 64);
          setCtrl(false);
        }
        say({data: d});
      });
      sizes.observe(el.current);
      sizes.observe(t.element.querySelector('.xterm-screen'));
      open();
    });
    return () => {
      gone = true;
      clearTimeout(timer);
      sizes.disconnect();
      if (ws.current) ws.current.close();
      if (term.current) term.current.dispose();
    };
  }, [id]);
  const take = () => calm.value && ws.current.send(JSON.stringify({take: true})),
    send = d => {
      ws.current?.send(JSON.stringify({data: d}));
      term.current?.focus();
    },
    writes = who === 'writer' && !ended;
  return html`
    <main id="main" tabindex="-1" class="term">
      <div class="ttyhead f">
        <span class=${'dot ' + (ended ? 'gry' : writes ? 'ok' : 'gry')}></span>
        <span class="grow" role="status">
          <b>
            ${ended
              ? 'The agent has ended.'
              : taken
                ? 'It was taken elsewhere.'
                : writes
                  ? 'You have the keyboard.'
                  : 'You are looking.'}
          </b>
          ${!ended && !taken && !writes && html`
            <span class="m dk">${' '}One page or terminal has the keyboard at a time.</span>
          `}
        </span>
        ${writes ? html`
          <span class="m s dk f"><kbd>Shift</kbd><kbd>Esc</kbd>leaves the screen</span>
        ` : html`
          <button
            type="button"
            class="btn fill"
            onClick=${take}
            disabled=${ended || !joined}
            aria-disabled=${calm.value ? undefined : 'true'}>
            Take the keyboard
          </button>
        `}
      </div>
      <div class="tty" ref=${el}></div>
      ${writes && html`
        <div class="keys" role="group" aria-label="Keys">
          ${keys.slice(0, 1).map(([n, d]) => html`
            <button type="button" class="btn" onClick=${() => send(d)}>${n}</button>
          `)}
          <button
            type="button"
            class="btn"
            aria-pressed=${ctrl}
            onClick=${() => {
              setCtrl(c => !c);
              term.current?.focus();
            }}>
            Ctrl
          </button>
          ${keys.slice(1).map(([n, d, icon]) => html`
            <button type="button" class="btn" key=${n} aria-label=${icon && n} onClick=${() => send(d)}>
              ${icon ? html`<${Icon} of=${icon} />` : n}
            </button>
          `)}
        </div>
      `}
    </main>
  `;
}
