import type { Browser, Page } from 'playwright-core';
import { StagedService, stagedTokens } from './staged-service.js';
import type { StagedState } from './staged-states.js';

/** Widths and heights of a phone, a tablet and a desktop, in pixels of the page. */
export const stagedSizes = {
  phone: { width: 390, height: 844 },
  tablet: { width: 820, height: 1180 },
  desktop: { width: 1440, height: 900 },
} as const;

const shownWithin_ms = 60_000;

/** A page in a staged state. Close the page after use. */
export async function openState(browser: Browser, staged: StagedState): Promise<Page> {
  const service = await StagedService.start(staged);
  const page = await browser.newPage({ viewport: stagedSizes.desktop });
  page.setDefaultTimeout(shownWithin_ms);
  page.on('close', () => void service[Symbol.asyncDispose]());
  if (staged.meets === 'silence') await page.route('**/api/v1/watch', () => undefined);
  await page.goto(staged.meets === 'viewToken' ? `${service.url}/#token=${stagedTokens.viewToken}` : service.url);
  await untilShown(page, staged);
  if (staged.meets === 'lostService') {
    await service[Symbol.asyncDispose]();
    await page.locator('#link', { hasText: 'Stale' }).waitFor();
  }
  if (staged.presses !== undefined) await page.locator(staged.presses).click();
  return page;
}

async function untilShown(page: Page, { meets, reports }: StagedState): Promise<void> {
  await page.evaluate('document.fonts.ready');
  if (meets === 'silence') return;
  if (meets === 'noToken') return page.locator('#token-form').waitFor();
  await page.locator('body:not([data-stale])').waitFor();
  if (meets === 'viewToken') await page.locator('#cut-over', { hasText: 'read-only' }).waitFor();
  if (await page.locator('#start').isVisible()) {
    await page.locator('#start .findings li').first().waitFor();
    await page.locator('#start [data-field="listed"]', { hasText: 'databases' }).waitFor({ state: 'attached' });
  }
  if (reports.some(({ step }) => step !== null)) await page.locator('#timeline li').first().waitFor();
}
