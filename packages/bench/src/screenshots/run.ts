import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { ContractClient } from '@convoy/api/client/contract-client';
import type { FleetProgress } from '@convoy/api/contract/fleet-progress';
import { findChromium, startBrowser } from '@convoy/testbed/browser/browser';
import { Closers } from '@convoy/testbed/closers';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';
import { follow } from '@convoy/cli/environment/fleet/follow';
import { Child } from '@convoy/testbed/process/child';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { takeStates } from './states/take-states.js';

interface Picture {
  readonly file: string;
  readonly colorScheme: 'light' | 'dark';
  readonly width: number;
  readonly height: number;
  /** Pixels of the picture per pixel of the page. */
  readonly scale: number;
}

/** The pictures of the README. */
const pictures: readonly Picture[] = [
  { file: 'dashboard-light.png', colorScheme: 'light', width: 1440, height: 1540, scale: 1 },
  { file: 'dashboard-phone-dark.png', colorScheme: 'dark', width: 390, height: 844, scale: 1.5 },
];
/** Keeps a clone small. */
const pictureBytesMax = 300_000;
/** Late enough for charts to show a history. */
const percentMin = 70;
/** Few enough for the simulated oplog. */
const documents = '450000';
/** Of each instance, so that the copy takes a minute on any host, and the history has points. */
const loadRate = '1800000';
const demoWithin_ms = 300_000;
const copyWithin_ms = 900_000;
const shownWithin_ms = 120_000;

/** Takes pictures of the dashboard during a demo's copy. */
async function takePictures(folder: string): Promise<void> {
  await using closers = new Closers();
  const browser = await startBrowser();
  closers.defer(() => browser.close());
  const scratch = closers.use(ScratchFolder.create('screenshots'));
  const demo = closers.use(await startDemo(scratch));
  const url = demo.ready[1] ?? '';
  const pages = await Promise.all(pictures.map((picture) => open(browser, url, picture)));
  const client = new ContractClient(url);
  const read = async (): Promise<FleetProgress> => (await client.fleetProgress()).progress;
  const isHalfWay = ({ info, percent }: FleetProgress): boolean =>
    info === 'collection copy' && (percent ?? 0) >= percentMin;
  await follow(read, { what: `${percentMin} % of the copy`, limit_ms: copyWithin_ms, until: isHalfWay });
  mkdirSync(folder, { recursive: true });
  // Concurrently: on a fast host the copy takes only seconds.
  const taken = await Promise.all(pages.map((page) => take(page)));
  for (const [at, { file }] of pictures.entries()) keep(join(folder, file), taken[at] ?? Buffer.alloc(0));
}

function keep(path: string, png: Buffer): void {
  if (png.length === 0 || png.length > pictureBytesMax)
    throw new Error(`${path} has ${png.length} bytes; ${pictureBytesMax} are the limit.`);
  writeFileSync(path, png);
  console.log(`${path}: ${Math.round(png.length / 1000)} kB`);
}

function startDemo(scratch: ScratchFolder): Promise<Child> {
  return Child.start({
    name: 'demo',
    command: process.execPath,
    args: [convoyProgram, 'demo', '--documents', documents],
    env: { CONVOY_LOAD_RATE_BYTES_PER_SECOND: loadRate },
    ready: /fleet API: (http\S+)/,
    readyWithin_ms: demoWithin_ms,
    logFile: scratch.file('demo.log'),
  });
}

/** A page that follows the fleet from the start, so that its picture has the whole history. */
async function open(browser: Browser, url: string, { colorScheme, width, height, scale }: Picture): Promise<Page> {
  const page = await browser.newPage({ colorScheme, viewport: { width, height }, deviceScaleFactor: scale });
  await page.goto(url);
  return page;
}

async function take(page: Page): Promise<Buffer> {
  for (const drawn of ['#fleet .row', '#chart-list canvas', '#timeline li'])
    await page.locator(drawn).first().waitFor({ timeout: shownWithin_ms });
  return page.screenshot();
}

if (findChromium() === undefined) {
  console.error('Pictures need a Chromium, and there is none on the PATH. Install one or set CHROMIUM_BIN.');
  process.exitCode = 1;
} else {
  const [first, ...rest] = process.argv.slice(2);
  if (first === '--states') await takeStates(rest[0] ?? join(tmpdir(), 'convoy-states'), rest[1]);
  else await takePictures(first ?? 'docs/images');
}
