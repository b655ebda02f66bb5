import { delimiter, join } from 'node:path';
import { isExecutable } from '@convoy/testbed/process/is-executable';

/** Names of the browser in distributions. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Path of `CHROMIUM_BIN` or of a Chromium on the `PATH`; undefined without one. */
export function findChromium(): string | undefined {
  const { PATH, CHROMIUM_BIN } = process.env;
  const folders = (PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates =
    CHROMIUM_BIN === undefined ? names.flatMap((name) => folders.map((folder) => join(folder, name))) : [CHROMIUM_BIN];
  return candidates.find(isExecutable);
}
