// node setting.mjs <path> …: prints settings, such as go.module, in one line.
import { readSettings, settingAt } from './settings.mjs';

const settings = readSettings();
console.log(
  process.argv
    .slice(2)
    .map((path) => settingAt(settings, path))
    .join(' '),
);
