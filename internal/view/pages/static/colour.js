// The colours of code: little enough is known of each language that every line stands for itself, and reading it takes
// as long as it has characters, whoever wrote it.
import {refill} from '/assets/words.js';

// What each is: how its files' names end, what begins a comment, what is around a text, and whether it has keywords.
const languages = [
  [
    'go js mjs cjs jsx ts tsx c h cc cpp cxx hpp cs java kt kts swift rs scala dart php zig proto groovy gradle',
    ['//', '/*'],
    '"\'`',
    true,
  ],
  [
    'py pyi rb sh bash zsh fish pl pm ex exs nix tf hcl ps1 r jl graphql cmake Makefile makefile mk Dockerfile ' +
      'Containerfile Gemfile Rakefile',
    ['#'],
    '"\'',
    true,
  ],
  ['sql lua hs elm adb', ['--', '/*'], '"\'', true],
  ['yaml yml toml ini cfg conf properties env editorconfig gitconfig', ['#', ';'], '"\'', false],
  ['css scss less json jsonc json5 webmanifest', ['/*', '//'], '"\'', false],
  ['html htm xml svg vue xhtml plist', ['<!--'], '"\'', false],
];
export function languageOf(path) {
  const end = path.split('/').pop().split('.').pop();
  return languages.find(([ends]) => ends.split(' ').includes(end));
}

// keywords mean something in most languages that have them.
const keywords = new Set(
  (
    'abstract alias and as assert async await begin break case catch chan class const continue def default defer del ' +
    'delete do done elif else elsif end enum esac except export extends extern fallthrough false fi final finally fn ' +
    'for foreach from func function global go goto guard if impl implements import in include inline instanceof ' +
    'interface is lambda let local loop match mod module move mut namespace new nil None not null of operator or ' +
    'package pass private protected protocol pub public raise range ref require rescue return select self static ' +
    'struct super switch template then this throw throws trait true True False try type typedef typeof undefined ' +
    'union unless unsafe until use using val var void when where while with yield SELECT FROM WHERE INSERT INTO ' +
    'UPDATE DELETE CREATE TABLE VALUES SET JOIN ON AND OR NOT NULL ALTER DROP INDEX RUN COPY ADD ENTRYPOINT CMD ' +
    'ENV WORKDIR ARG USER'
  ).split(' '),
);

// A page draws so many pieces, and each second some more. What is beyond, and a very long line, has one colour.
const most = {parts: 60000};
const more = {parts: 2000};
const left = {...most, at: 0};

// paint gives a line its pieces, each with the letter of its colour. Together they are the line.
export function paint(line, lang, of = left) {
  if (!lang || line.length > 2000) return [['', line]];
  refill(of, most, more);
  const pieces = [];
  let [from, was] = [0, ''];
  for (let at = 0; at < line.length; ) {
    const [kind, n] = next(line, at, lang);
    if (kind !== was && at > from) {
      pieces.push([was, line.slice(from, at)]);
      from = at;
    }
    was = kind;
    at += n;
  }
  pieces.push([was, line.slice(from)]);
  of.parts -= pieces.length;
  return of.parts < 0 ? [['', line]] : pieces;
}

const word = /[\p{L}\p{M}\p{N}_]+/uy;

// next is what a line goes on with, and how long that is.
function next(line, at, [, comments, quotes, words]) {
  if (comments.some(c => line.startsWith(c, at))) return ['c', line.length - at];
  if (quotes.includes(line[at])) {
    let end = at + 1;
    while (end < line.length && line[end] !== line[at]) end += line[end] === '\\' ? 2 : 1;
    return ['s', Math.min(end + 1, line.length) - at];
  }
  word.lastIndex = at;
  const is = word.exec(line)?.[0];
  if (!is) return ['', 1];
  if (/^\d/.test(is)) return ['n', is.length];
  if (words && keywords.has(is)) return ['k', is.length];
  return [words && line[at + is.length] === '(' ? 'f' : '', is.length];
}
