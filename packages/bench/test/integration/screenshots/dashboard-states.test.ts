import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, startBrowser } from '@convoy/testbed/browser/browser';
import { colorRules, overflow, seriousFindings } from '../../../../../e2e/page-findings.js';
import { isFullRun } from '../../../../../e2e/requirements.js';
import { drawn } from '../../../../../test/seed.js';
import { openState, stagedSizes } from '../../../src/screenshots/states/staged-service.js';
import { stagedStates } from '../../../src/screenshots/states/staged-states.js';

const skip = findChromium() === undefined;

/** States that share every card with another one. */
const sharing = [
  'connecting',
  'initializing',
  'initializing-unreachable',
  'idle',
  'idle-picking',
  'preparing',
  'copying-silent-instance',
  'ready',
  'paused',
  'committed-cleaned-up',
  'reversing',
  'stale',
];
/** So many instances that axe takes long for them. */
const large = 'copying-256';
/** Of the states that share their cards axe reads one in a usual run. */
const unread = isFullRun ? [] : [large, ...sharing.filter((name) => !drawn(sharing).includes(name))];

const states = stagedStates().map((staged) => [staged.name, staged] as const);

describe.skipIf(skip)(`the dashboard${skip ? ' (needs a Chromium)' : ''}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(() => browser.close());

  test.each(states.filter(([name]) => !unread.includes(name)))(
    'is accessible and fits every size in the state %s',
    async (_name, staged) => {
      await using page = await openState(browser, staged);
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await seriousFindings(page), 'light').toEqual([]);
      // Colors alone differ between the schemes.
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await seriousFindings(page, colorRules), 'dark').toEqual([]);
      await expectFits(page);
    },
  );

  test.each(states.filter(([name]) => unread.includes(name)))(
    'fits every size in the state %s',
    async (_name, staged) => {
      await using page = await openState(browser, staged);
      await expectFits(page);
    },
  );
});

async function expectFits(page: Page): Promise<void> {
  for (const [size, viewport] of Object.entries(stagedSizes)) {
    await page.setViewportSize(viewport);
    expect(await overflow(page), size).toBeLessThanOrEqual(0);
  }
}
