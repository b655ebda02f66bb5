import { chromium, type Browser } from 'playwright-core';
import { findChromium } from './find-chromium.js';

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
