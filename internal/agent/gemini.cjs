// Gemini reads its system settings, which no repository can overrule, only if they and every directory above them belong to
// root. In a box nothing does: the kernel knows one user there, and shows root as nobody. The files are read-only there
// all the same, so this says of them, and of nothing else, what gemini wants to hear.
'use strict';
const fs = require('node:fs');
const mine = new Set(['/', '/etc', '/etc/gemini-cli', '/etc/gemini-cli/settings.json', '/etc/gemini-cli/system-defaults.json']);
const owned = (path, stats) => {
  if (stats && typeof path === 'string' && mine.has(path) && typeof stats.uid === 'number') {
    stats.uid = 0;
    stats.mode &= ~0o022;
  }
  return stats;
};
for (const name of ['statSync', 'lstatSync']) {
  const real = fs[name];
  fs[name] = Object.assign(function (path, ...rest) {
    return owned(path, real.call(fs, path, ...rest));
  }, real);
}
for (const name of ['stat', 'lstat']) {
  const real = fs.promises[name];
  fs.promises[name] = async (path, ...rest) => owned(path, await real.call(fs.promises, path, ...rest));
}
require('node:module').syncBuiltinESMExports();
// It is for gemini alone, not for what gemini starts.
delete process.env.NODE_OPTIONS;
