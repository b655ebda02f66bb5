import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startBrowser } from '@convoy/testbed/browser/browser';
import { openState, stagedSizes } from './staged-service.js';
import { stagedStates } from './staged-states.js';

/**
 * Takes pictures of the dashboard in every state, at three sizes, light and dark, into a folder.
 * @param wanted part of the states' names; empty for all
 */
export async function takeStates(folder: string, wanted = ''): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const browser = await startBrowser();
  try {
    for (const staged of stagedStates().filter(({ name }) => name.includes(wanted))) {
      const page = await openState(browser, staged);
      await takeAll(page, join(folder, staged.name));
      await page.close();
      console.log(staged.name);
    }
  } finally {
    await browser.close();
  }
}

async function takeAll(page: Page, path: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const [size, viewport] of Object.entries(stagedSizes)) {
      await page.setViewportSize(viewport);
      // A browser without time leaves parts of a picture white that it has not drawn before.
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))');
      await page.screenshot({ path: `${path}-${size}-${colorScheme}.png`, fullPage: true });
    }
  }
}
