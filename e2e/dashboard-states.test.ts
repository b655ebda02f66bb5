import { expect, test } from 'vitest';
import { startBrowser } from '@convoy/cli/environment/browser/browser';
import { findChromium } from '@convoy/cli/environment/browser/find-chromium';
import { openState, stagedSizes } from '@convoy/cli/screenshots/states/open-state';
import { stagedStates } from '@convoy/cli/screenshots/states/staged-states';
import { overflow, seriousFindings } from './page-findings.js';

const skip = findChromium() === undefined;

test(
  `the dashboard is accessible and fits every size in every state${skip ? ' (needs a Chromium)' : ''}`,
  {
    skip,
  },
  async () => {
    await using browser = await startBrowser();
    for (const staged of stagedStates()) {
      await using page = await openState(browser, staged);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        expect(await seriousFindings(page), `${staged.name}, ${colorScheme}`).toEqual([]);
      }
      for (const [size, viewport] of Object.entries(stagedSizes)) {
        await page.setViewportSize(viewport);
        expect(await overflow(page), `${staged.name}, ${size}`).toBeLessThanOrEqual(0);
      }
    }
  },
);
