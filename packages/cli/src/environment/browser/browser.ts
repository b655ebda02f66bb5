import { chromium, type Browser } from 'playwright-core';
import { findChromium } from './find-chromium.js';

/** A loaded machine is slow. */
const launchWithin_ms = 120_000;

/**
 * Starts a browser without a window.
 * @throws Error when there is none
 */
export function startBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('There is no Chromium on the PATH; CHROMIUM_BIN may name one.');
  // Containers have no namespaces to give to the sandbox, and small shared memory; nothing but the own page is opened.
  return chromium.launch({
    executablePath,
    timeout: launchWithin_ms,
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--enable-precise-memory-info'],
  });
}
