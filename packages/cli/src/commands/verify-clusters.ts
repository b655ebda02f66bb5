import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import type { WriteStream } from 'node:tty';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { isClusterName, requireClusterName } from '@convoy/instance/lifecycle/migration/clusters';
import {
  type ComparisonProgress,
  type ComparisonRequest,
  type EndedComparison,
  runComparison,
} from '@convoy/instance/process/comparison';
import { looksForProof } from '@convoy/instance/verify/compare/check-again';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import { comparisonLine, resultLines } from '../progress-view/verify-lines.js';
import { verifyReport } from '../progress-view/verify-report.js';
import { interruption } from './interruption.js';
import { type Flags, instanceSettings, settingFlags, sourcesOf } from './settings.js';

/** Interval of recording the comparison's state; a killed run repeats at most that much. */
const record_ms = 2_000;
/** Maximum mismatches to print, and to list in a report. */
const shownMax = 20;
const reportedMax = 1_000;

const { cluster0, cluster1 } = instanceSettings;
const clusterSettings = { cluster0, cluster1 };

/** Flags of `convoy verify`. */
export interface VerifyFlags extends Flags {
  readonly source: string;
  readonly destination: string;
  readonly include?: unknown;
  readonly exclude?: unknown;
  readonly remap?: unknown;
  readonly shardKeys: boolean;
  readonly settle: number;
  readonly generations: number;
  readonly readers: number;
  readonly state?: string;
  readonly restart?: boolean;
  readonly report?: string;
  readonly mismatches?: string;
  readonly json?: boolean;
}

/** Compares the clusters, shows progress and result, and writes the requested files. */
export async function verify(flags: VerifyFlags): Promise<EndedComparison> {
  const request = requestOf(flags);
  let view: ComparisonView | undefined;
  try {
    return await runComparison(
      request,
      {
        began(progress) {
          const { resumed, folder } = progress();
          if (resumed) console.error(`Continuing with the state in ${folder}; --restart starts over.`);
          view = new ComparisonView(flags.json ? process.stdout : process.stderr, progress, flags.json ?? false);
        },
        retry: ({ what, failure, attempt }) => console.error(`${what}: ${failure}, ${attempt} attempts`),
        async ended(comparison, mismatches) {
          view?.end();
          await write(comparison, mismatches, flags, request);
        },
      },
      interruption(),
    );
  } finally {
    view?.end();
  }
}

/** @throws ConvoyError `invalidConfiguration`, `invalidRequest`, `clusterUnknown` */
function requestOf(flags: VerifyFlags): ComparisonRequest {
  const names = [flags.source, flags.destination].filter(isClusterName).length;
  if (names === 1)
    throw new ConvoyError(
      'invalidConfiguration',
      'Give --source and --destination both as connection strings, or both by name.',
    );
  const given =
    names === 2
      ? settingFlags(flags, clusterSettings)
      : { ...settingFlags(flags, {}), cluster0: flags.source, cluster1: flags.destination };
  const config = parseInstanceConfig(sourcesOf(given));
  const [source, destination] = names === 2 ? [flags.source, flags.destination] : ['cluster0', 'cluster1'];
  const { includeNamespaces, excludeNamespaces, namespaceRemap } = parseStartRequest({
    source,
    destination,
    includeNamespaces: flags.include ?? [],
    excludeNamespaces: flags.exclude ?? [],
    ...(flags.remap !== undefined && { namespaceRemap: flags.remap }),
  });
  return {
    config,
    source: requireClusterName(source),
    destination: requireClusterName(destination),
    filter: { includeNamespaces, excludeNamespaces, namespaceRemap },
    options: {
      rule: { settle_ms: flags.settle * 1000, looksMin: looksForProof },
      generationsMax: flags.generations,
      readers: flags.readers,
      record_ms,
      shardKeys: flags.shardKeys,
    },
    folder: flags.state ?? null,
    restart: flags.restart ?? false,
  };
}

/** Writes the result and the requested files. */
async function write(
  ended: EndedComparison,
  mismatches: () => AsyncIterable<DescribedMismatch>,
  flags: VerifyFlags,
  { filter, options }: ComparisonRequest,
): Promise<void> {
  if (flags.mismatches !== undefined) await writeLines(flags.mismatches, mismatches());
  const first: DescribedMismatch[] = [];
  for await (const mismatch of mismatches()) {
    first.push(mismatch);
    if (first.length >= reportedMax) break;
  }
  if (flags.report !== undefined)
    writeFileSync(
      flags.report,
      verifyReport(ended, { filter, options, shown: first, mismatchFile: flags.mismatches ?? null }),
    );
  console.log(
    flags.json
      ? JSON.stringify({ event: 'result', ...ended })
      : resultLines(ended, first.slice(0, shownMax)).join('\n'),
  );
}

async function writeLines(path: string, values: AsyncIterable<object>): Promise<void> {
  const stream = createWriteStream(path, { mode: 0o600 });
  for await (const value of values) if (!stream.write(`${JSON.stringify(value)}\n`)) await once(stream, 'drain');
  stream.end();
  await once(stream, 'finish');
}

/** Interval of redrawing a terminal, and of writing lines elsewhere. */
const drawInterval_ms = 500;
const lineInterval_ms = 10_000;

/** Shows the progress of a comparison: one redrawn line in a terminal, lines elsewhere, or JSON. */
class ComparisonView {
  readonly #timer: NodeJS.Timeout;
  #before = { at_ms: performance.now(), bytes: 0 };
  #rate = 0;

  constructor(
    private readonly output: Pick<WriteStream, 'write'> & { isTTY?: boolean; columns?: number },
    private readonly progress: () => ComparisonProgress,
    private readonly asJson: boolean,
  ) {
    this.#before.bytes = progress().totals.bytes;
    this.#timer = setInterval(() => this.#show(), this.#drawn ? drawInterval_ms : lineInterval_ms);
  }

  /** Ends the display and clears the terminal's line. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#drawn) this.output.write('\r\u001b[2K');
  }

  get #drawn(): boolean {
    return this.output.isTTY === true && !this.asJson;
  }

  #show(): void {
    const progress = this.progress();
    this.#measure(progress.totals.bytes);
    if (this.asJson)
      this.output.write(
        `${JSON.stringify({ event: 'progress', ...progress, bytesPerSecond: Math.round(this.#rate) })}\n`,
      );
    else if (this.#drawn)
      this.output.write(`\r\u001b[2K${comparisonLine(progress, this.#rate).slice(0, (this.output.columns ?? 80) - 1)}`);
    else this.output.write(`${comparisonLine(progress, this.#rate)}\n`);
  }

  /** The stats change when the comparison records a part, so the rate is measured between such moments. */
  #measure(bytes: number): void {
    const now_ms = performance.now();
    if (bytes === this.#before.bytes) return;
    this.#rate = ((bytes - this.#before.bytes) * 1000) / (now_ms - this.#before.at_ms);
    this.#before = { at_ms: now_ms, bytes };
  }
}
