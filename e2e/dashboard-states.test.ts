import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startBrowser } from '@convoy/cli/environment/browser/browser';
import { findChromium } from '@convoy/cli/environment/browser/find-chromium';
import { openState, stagedSizes } from '@convoy/cli/screenshots/states/open-state';
import { stagedStates } from '@convoy/cli/screenshots/states/staged-states';
import { colorRules, overflow, seriousFindings } from './page-findings.js';

const skip = findChromium() === undefined;

describe.skipIf(skip)(`the dashboard is accessible and fits every size${skip ? ' (needs a Chromium)' : ''}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(() => browser.close());

  const states = stagedStates().map((staged) => [staged.name, staged] as const);
  test.each(states)('in the state %s', async (_name, staged) => {
    await using page = await openState(browser, staged);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await seriousFindings(page), 'light').toEqual([]);
    // Colors alone differ between the schemes.
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await seriousFindings(page, colorRules), 'dark').toEqual([]);
    for (const [size, viewport] of Object.entries(stagedSizes)) {
      await page.setViewportSize(viewport);
      expect(await overflow(page), size).toBeLessThanOrEqual(0);
    }
  });
});
