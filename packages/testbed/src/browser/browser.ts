import { delimiter, join } from 'node:path';
import { chromium, type Browser } from 'playwright-core';
import { isExecutable } from '../process/is-executable.js';

/** Names of the browser in distributions. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
/** A loaded host is slow. */
const launchWithin_ms = 120_000;

/**
 * Starts a headless browser.
 * @throws Error without a browser
 */
export function startBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error('There is no Chromium on the PATH. Install one or set CHROMIUM_BIN.');
  // Containers offer no namespaces to the sandbox, and little shared memory. The browser only opens our own page.
  return chromium.launch({
    executablePath,
    timeout: launchWithin_ms,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--enable-precise-memory-info'],
  });
}

/** Path of `CHROMIUM_BIN` or of a Chromium on the `PATH`; undefined without one. */
export function findChromium(): string | undefined {
  const { PATH, CHROMIUM_BIN } = process.env;
  const folders = (PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const candidates =
    CHROMIUM_BIN === undefined ? names.flatMap((name) => folders.map((folder) => join(folder, name))) : [CHROMIUM_BIN];
  return candidates.find(isExecutable);
}
