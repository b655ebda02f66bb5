import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Names of the browser in distributions. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Path of `CHROMIUM_BIN` or of a Chromium on the `PATH`; undefined without one. */
export function findChromium(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates =
    env['CHROMIUM_BIN'] === undefined
      ? names.flatMap((name) => folders.map((folder) => join(folder, name)))
      : [env['CHROMIUM_BIN']];
  return candidates.find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
