import { readFileSync } from 'node:fs';
import type { MongoClient } from 'mongodb';
import type { Browser, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { ContractClient } from '@convoy/api/client/contract-client';
import { findChromium, startBrowser } from '@convoy/testbed/browser/browser';
import { Closers } from '@convoy/testbed/closers';
import type { Fleet } from '@convoy/cli/environment/fleet/start-fleet';
import { bytesText, countText } from '@convoy/coordinator/dashboard/views/quantity';
import { FleetUnderLoad } from './fleet-under-load.js';
import { overflow, seriousFindings } from './page-findings.js';
import { defaultStart, untilCanCommit, untilCommitted } from './fleet.js';
import { needs } from './requirements.js';

const browserPath = findChromium();
const skip = browserPath === undefined || needs({ version: [5, 0] }).skip;
const requirement = `servers from 5.0${browserPath === undefined ? '; needs a Chromium on the PATH' : ''}`;
/** Enough for every card to have something to show. */
const orders = 1_000;
/** A machine under load is slow, and so is a browser on it. */
const shownWithin = { timeout: 120_000 };

async function fillOptions(page: Page, options: unknown): Promise<void> {
  const json = page.locator('#start [data-field="json"]');
  if (!(await json.isVisible())) await page.locator('#start summary', { hasText: 'Advanced' }).click(shownWithin);
  await json.fill(JSON.stringify(options));
}

/** Presses a button of the cut-over and confirms. */
async function press(page: Page, command: string, options?: unknown): Promise<void> {
  if (options !== undefined) await fillOptions(page, options);
  await page.locator(`#do-${command}`).click(shownWithin);
  const typed = page.locator('#confirm [data-field="typed"]');
  if (await typed.isVisible()) await typed.fill(command);
  await page.locator('#confirm [data-field="confirm"]').click(shownWithin);
}

/** Gives a command that is accepted. */
async function give(page: Page, command: string, options?: unknown): Promise<void> {
  await press(page, command, options);
  await page.locator('#confirm').waitFor({ state: 'hidden', ...shownWithin });
  await page
    .locator('#command-list > li')
    .first()
    .filter({ hasText: `${command} at` })
    .waitFor(shownWithin);
}

/** The guided start knows the source's databases, checks the options, and explains what the clusters forbid. */
async function untilGuided(page: Page): Promise<void> {
  const start = page.locator('#start');
  await start.locator('[data-field="summary"]').filter({ hasText: '✓ A migration can start.' }).waitFor(shownWithin);
  await start.locator('[data-field="picked"]').check();
  await start.locator('.databases label').first().waitFor(shownWithin);
  await start.locator('.databases input').first().check();
  await expect
    .poll(() => start.locator('[data-field="json"]').inputValue(), shownWithin)
    .toContain('"includeNamespaces"');
  expect(await seriousFindings(page)).toEqual([]);
  await start.locator('[data-field="all"]').check();
}

/** A start is offered only once its checks pass: wrong options and a destination that is not empty stand against it. */
async function expectNoStartAgainstChecks(page: Page, destination: MongoClient): Promise<void> {
  const start = page.locator('#start');
  const untilSummary = (text: string): Promise<void> =>
    start.locator('[data-field="summary"]').filter({ hasText: text }).waitFor(shownWithin);
  const button = page.locator('#do-start');
  await fillOptions(page, { source: 'cluster0' });
  await untilSummary('✕ A migration cannot start yet. destination');
  expect(await button.isDisabled()).toBe(true);
  await destination.db('shop').collection('orders').insertOne({});
  await fillOptions(page, defaultStart);
  await untilSummary('✕ A migration cannot start yet: one check fails. Do what it says, then check again.');
  expect(await button.isDisabled()).toBe(true);
  expect(await start.locator('.findings li').first().textContent()).toContain('shop.orders');
  expect(await seriousFindings(page)).toEqual([]);
  await destination.db('shop').dropDatabase();
  await start.locator('[data-field="again"]').click(shownWithin);
  await untilSummary('✓ A migration can start.');
  expect(await button.isEnabled()).toBe(true);
}

/** The table of what is left behind follows what the form would have carried. */
async function untilListed(page: Page, source: MongoClient): Promise<void> {
  await source.db('shop').command({ createUser: 'clerk', pwd: 'secret', roles: ['read'] });
  const outcome = page.locator('#inventory [data-field="forward"] tr', { hasText: 'clerk@shop' });
  const carry = page.locator('#start [data-field="usersAndRoles"]');
  await carry.check();
  await outcome.filter({ hasText: 'carried at the commit' }).waitFor(shownWithin);
  await carry.uncheck();
  await outcome.filter({ hasText: 'left behind' }).waitFor(shownWithin);
  await page
    .locator('#inventory [data-field="summary"]')
    .first()
    .filter({ hasText: '1 left behind' })
    .waitFor(shownWithin);
  expect(await seriousFindings(page)).toEqual([]);
}

async function untilState(page: Page, state: string): Promise<void> {
  await page.locator('#state [data-field="state"]').filter({ hasText: state }).waitFor(shownWithin);
}

/** The card of the next step gives this advice, and offers these commands, the primary one first. */
async function untilOffered(page: Page, commands: readonly string[], advice: string): Promise<void> {
  await page.locator('#cut-over [data-field="advice"]').filter({ hasText: advice }).waitFor(shownWithin);
  const buttons = page.locator('#cut-over [data-field="actions"] button');
  await expect
    .poll(() => buttons.evaluateAll((all: { id: string }[]) => all.map(({ id }) => id)), shownWithin)
    .toEqual(commands.map((name) => `do-${name}`));
}

/** What the page shows in other words than the API; each may be a moment ahead of the other. */
async function differences(page: Page, client: ContractClient): Promise<string[]> {
  const { progress } = await client.fleetProgress();
  const { collectionCopy: copy, indexBuilding: indexes, instances, verification } = progress;
  if (instances === null || verification === null) return ['no instance or no verifier reported'];
  const stat = (label: string): string => `#state dl div:has(dt:text-is("${label}")) dd`;
  const reported: [string, string][] = [
    [stat('Copied'), `${bytesText(copy?.estimatedCopiedBytes)} of ${bytesText(copy?.estimatedTotalBytes)}`],
    [stat('Events applied'), countText(progress.totalEventsApplied)],
    [
      '#indexes [data-field="indexes"]',
      `${countText(indexes?.indexesBuilt)} of ${countText(indexes?.totalIndexesToBuild)}`,
    ],
    ...Object.entries(verification).map(([side, { hashedDocumentCount, estimatedDocumentCount }]): [string, string] => [
      `#verifier tr[data-key="${side}" i] [data-field="documents"]`,
      `${countText(hashedDocumentCount)} of ${countText(estimatedDocumentCount)}`,
    ]),
    ...instances.flatMap(({ id, totalEventsApplied, estimatedCopiedBytes }): [string, string][] => [
      [`#instance-rows tr[data-key="${id}"] [data-field="events"]`, countText(totalEventsApplied)],
      [`#instance-rows tr[data-key="${id}"] [data-field="copied"]`, bytesText(estimatedCopiedBytes)],
    ]),
  ];
  const shown = await Promise.all(reported.map(([place]) => page.locator(place).innerText(shownWithin)));
  return reported.flatMap(([place, text], at) =>
    text === shown[at] ? [] : [`${place}: ${shown[at]} instead of ${text}`],
  );
}

/** A fleet with its dashboard in a browser; collects the page's errors. */
async function openDashboard(
  closers: Closers,
): Promise<{ under: FleetUnderLoad; browser: Browser; page: Page; complaints: string[] }> {
  const under = closers.use(await FleetUnderLoad.start({ orders }));
  const browser = await startBrowser();
  closers.defer(() => browser.close());
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const { url } = under.fleet.coordinator;
  const complaints: string[] = [];
  page.on('pageerror', ({ message }) => complaints.push(message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(url);
  await untilState(page, 'IDLE');
  return { under, browser, page, complaints };
}

/** No serious finding of axe, light or dark, and nothing wider than the page, from a phone to a wall screen. */
async function expectAccessible(page: Page): Promise<void> {
  await page.locator('body:not([data-stale])').waitFor(shownWithin);
  expect(await seriousFindings(page)).toEqual([]);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await seriousFindings(page)).toEqual([]);
  for (const width of [390, 1440, 2560]) {
    await page.setViewportSize({ width, height: 900 });
    expect(await overflow(page), `at ${width} px`).toBeLessThanOrEqual(0);
  }
}

/** The button saves a report with the verdict and the end of the migration, which shows as a page of its own. */
async function expectReport(browser: Browser, page: Page): Promise<void> {
  const [saved] = await Promise.all([page.waitForEvent('download', shownWithin), page.locator('#report').click()]);
  expect(saved.suggestedFilename()).toBe('convoy-report.html');
  const shown = await browser.newPage();
  await shown.setContent(readFileSync(await saved.path(), 'utf8'));
  expect(await shown.locator('.verdict').textContent()).toMatch(
    /^Verified: [\d,]+ documents compared, 0 mismatches\.$/,
  );
  const clerk = shown.locator('tr', { hasText: /clerk@shop.*roles/ });
  expect(await clerk.textContent()).toContain('left behind');
  expect(await shown.locator('dt', { hasText: 'Begin on the destination at' }).count()).toBe(1);
  expect(await shown.locator('dl div', { hasText: 'Ended' }).locator('dd').textContent()).toMatch(/ UTC$/);
  for (const width of [1280, 390]) {
    await shown.setViewportSize({ width, height: 900 });
    expect(await seriousFindings(shown), `at ${width} px`).toEqual([]);
    expect(await overflow(shown), `at ${width} px`).toBeLessThanOrEqual(0);
  }
  await shown.close();
}

/** The page says that its data is old, and reconnects by itself. */
async function expectRecovery(page: Page, { coordinator }: Fleet): Promise<void> {
  await coordinator.stop();
  await page.locator('#link').filter({ hasText: 'Stale' }).waitFor(shownWithin);
  await untilOffered(page, [], 'these values are old');
  expect(await seriousFindings(page)).toEqual([]);
  await coordinator.startAgain();
  await page.locator('#link').filter({ hasText: 'Live' }).waitFor(shownWithin);
}

test(
  'the dashboard shows what the API reports, offers only what is possible, and it survives its ' +
    `coordinator (${requirement})`,
  { skip },
  async () => {
    await using closers = new Closers();
    const { under, browser, page, complaints } = await openDashboard(closers);
    const { clusters, fleet, workload, client } = under;

    await untilGuided(page);
    await untilListed(page, clusters.clients.source);
    await expectNoStartAgainstChecks(page, clusters.clients.destination);
    await give(page, 'start', defaultStart);
    await untilState(page, 'RUNNING');
    await page.locator('#preflight li').first().waitFor(shownWithin);

    await untilCanCommit(client);
    await expectRecovery(page, fleet);
    await give(page, 'pause');
    await untilState(page, 'PAUSED');
    await untilOffered(page, ['resume'], 'Resume before the oplog');
    await expect.poll(() => differences(page, client), shownWithin).toEqual([]);
    for (const { name } of fleet.instances)
      await page
        .locator(`#fleet .row[data-key="${name}"] [data-field="state"]`)
        .filter({ hasText: 'PAUSED' })
        .waitFor(shownWithin);
    await page
      .locator('#namespaces tr')
      .filter({ hasText: 'orders' })
      .filter({ hasText: '✓ copied' })
      .first()
      .waitFor(shownWithin);
    await page.locator('#chart-list canvas').first().waitFor(shownWithin);
    await expectAccessible(page);
    const late = await browser.newPage();
    await late.goto(fleet.coordinator.url);
    for (const text of ['The fleet is RUNNING.', 'The fleet is PAUSED.'])
      await late.locator('#timeline li').filter({ hasText: text }).first().waitFor(shownWithin);
    await late.close();

    await give(page, 'resume');
    await workload.stop();
    await untilCanCommit(client);
    await give(page, 'commit');
    await untilCommitted(client);
    await untilState(page, 'COMMITTED');
    await page.locator('#timeline li').filter({ hasText: 'The fleet is COMMITTED.' }).waitFor(shownWithin);
    await untilOffered(page, [], 'Reverse: Not started with reversible.');
    await page.locator('#mismatches summary').click(shownWithin);
    await page.locator('#mismatches').filter({ hasText: '✓ No known mismatches.' }).waitFor(shownWithin);
    await expectReport(browser, page);
    expect(complaints).toEqual([]);
    await clusters.expectEqual();
  },
);
