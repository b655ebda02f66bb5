import type { Browser, Page } from 'playwright-core';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { QuestionTopic, StartQuestion } from '@convoy/api/fleet/start-question';
import { systemTime } from '@convoy/api/time/time-source';
import type { FleetConsole } from '@convoy/coordinator/director/fleet-console';
import { FleetDirector } from '@convoy/coordinator/director/fleet-director';
import { MemoryOutbox } from '@convoy/coordinator/notifications/outbox';
import { createCoordinatorApp } from '@convoy/coordinator/server/coordinator-app';
import { createLogger } from '@convoy/instance/logging/logger';
import { stagedDetails, stagedInventory, stagedPreflight } from './staged-details.js';
import type { StagedState } from './staged-states.js';

type Listing = PublishedDetails['sourceListing'];
type Report = NonNullable<PublishedDetails['startCheck']['report']>;

/** A source before a start. */
function stagedListing(kind: 'sharded' | 'replicaSet' = 'sharded'): Pick<Listing, 'clusters' | 'rows' | 'unlisted'> {
  return {
    clusters: {
      source: { name: 'cluster0', kind, shards: kind === 'sharded' ? 3 : 1, version: '7.0.5', blocksWrites: true },
      destination: { name: 'cluster1', kind: 'sharded', shards: 4, version: '7.0.5', blocksWrites: true },
    },
    rows: Array.from({ length: 214 }, (_, at) => ({
      database: ['shop', 'billing', 'analytics'][at % 3] ?? '',
      collection: `collection_${at}`,
      totalBytes: Math.round(3e10 / (at + 1)),
      documents: Math.round(40_000 / (at + 1)),
    })),
    unlisted: 0,
  };
}

/** Checks of a start, with a warning, and a refusal while the verifier is on. */
function stagedReport(verifies: boolean): Report {
  const { items, at_ms } = stagedPreflight(Date.now());
  return {
    at_ms,
    canStart: !verifies,
    items: [
      ...items,
      {
        check: 'verification',
        result: verifies ? 'failed' : 'passed',
        error: verifies ? 'verificationMemoryInsufficient' : null,
        description: verifies
          ? 'The verifier needs 1.2 GB more memory. Raise memoryBytesMax, or turn verification off.'
          : 'The verifier is off.',
      },
    ],
  };
}

/** The command for which a fleet waits, as the coordinator that sent it remembers it. */
function stagedCommands(reports: readonly InstanceReport[]): ReturnType<FleetDirector['commands']> {
  const [waiting] = reports[0]?.progress.waitingFor ?? [];
  if (waiting === undefined) return [];
  return [
    {
      commandId: 'staged',
      at_ms: Date.now(),
      name: waiting.command,
      success: true,
      results: new Map(reports.map(({ identity }) => [identity.id, { success: true }])),
      waitingFor: [waiting.instance],
    },
  ];
}

const logger = createLogger({ verbosity: 'FATAL' });
const silence_ms = 42_000;
/** The tokens of a service that asks for one. */
const stagedTokens = { token: 'staged', viewToken: 'view' };

/** The coordinator's server over a fleet that exists only as reports: the same routes, aggregation and page. */
class StagedService implements AsyncDisposable {
  private constructor(
    private readonly app: Awaited<ReturnType<typeof createCoordinatorApp>>,
    readonly url: string,
  ) {}

  static async start(staged: StagedState): Promise<StagedService> {
    const needsToken = staged.meets === 'viewToken' || staged.meets === 'noToken';
    const app = await createCoordinatorApp({
      director: new StagedDirector(staged),
      access: {
        listen: '127.0.0.1',
        allowedHosts: [],
        allowUnauthenticated: false,
        ...(needsToken ? stagedTokens : {}),
      },
      logger,
    });
    return new StagedService(app, await app.listen({ host: '127.0.0.1', port: 0 }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
  }
}

/** A director over what a state stages; nothing is sent. */
class StagedDirector extends FleetDirector {
  constructor(private readonly staged: StagedState) {
    super(stagedConsole(staged), logger);
  }

  override commands(): ReturnType<FleetDirector['commands']> {
    return stagedCommands(this.staged.reports);
  }

  override get commandsSent(): number {
    return this.commands().length;
  }
}

function stagedConsole({ source, reports, silent = [] }: StagedState): FleetConsole {
  const details = stagedDetails(reports, Date.now());
  const isSilent = (id: string): boolean => silent.includes(id);
  const [first] = reports;
  return {
    outbox: new MemoryOutbox(systemTime),
    freshFor_ms: silence_ms,
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    isConnected: () => true,
    whyDisconnected: null,
    watch: () => () => undefined,
    reports: () =>
      new Map(
        reports.map((report): [string, SeenReport] => {
          const { id } = report.identity;
          return [id, { report, reportedAt_ms: Date.now(), fresh: !isSilent(id) }];
        }),
      ),
    leader: () => (first === undefined ? null : { id: first.identity.id, syncID: first.identity.syncID }),
    silent_ms: (id) => (isSilent(id) ? silence_ms : 200),
    warnings: () => [],
    refusedMessages: () => new Map(),
    send: () => Promise.resolve(new Map()),
    ask: (topic: QuestionTopic, { id, request }: StartQuestion) => {
      const common = { questionId: id, at_ms: Date.now(), failure: null };
      if (topic === 'sourceListing') details.sourceListing = { ...common, ...stagedListing(source) };
      else if (topic === 'inventory') {
        const reverses = first?.state === 'COMMITTED';
        details.inventory = { ...common, inventory: stagedInventory(common.at_ms, reverses) };
      } else details.startCheck = { ...common, report: stagedReport(request.verification.enabled) };
      return Promise.resolve();
    },
    async *details<Topic extends DetailTopic>(topic: Topic): AsyncGenerator<[string, PublishedDetails[Topic]]> {
      await Promise.resolve();
      const found = details[topic];
      if (found !== undefined) yield ['shard0', found];
    },
  };
}

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
  if (reports.length > 0) await page.locator('#inventory tbody tr').first().waitFor();
  if (reports.some(({ step }) => step !== null)) await page.locator('#timeline li').first().waitFor();
}
