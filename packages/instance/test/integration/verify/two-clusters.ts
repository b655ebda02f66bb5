import type { ReleaseSeries } from '@convoy/simulator';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/async/clock.js';
import type { NodeClient } from '../../../src/cluster/node-client.js';
import { clusterFailures } from '../../../src/cluster/connection-failure.js';
import { classify } from '../../../src/cluster/failure.js';
import { retryingFor } from '../../../src/async/retry.js';
import {
  compareClusters,
  type ComparisonFilter,
  type ComparisonOutcome,
  type ComparisonOptions,
  type ComparisonPhase,
} from '../../../src/verify/standalone/compare-clusters.js';
import { ComparisonState } from '../../../src/verify/standalone/comparison-state.js';
import type { DescribedMismatch } from '../../../src/verify/standalone/described-mismatch.js';
import { openTestCluster, type TestCluster } from '../catalog/clusters.js';

/** The result of a comparison, with all its mismatches. */
export type Compared = ComparisonOutcome & { documents: DescribedMismatch[] };

const everything: ComparisonFilter = { includeNamespaces: [], excludeNamespaces: [] };
const quick: ComparisonOptions = {
  rule: { settle_ms: 0, looksMin: 3 },
  generationsMax: 10,
  readers: 2,
  record_ms: 10_000,
  shardKeys: true,
};
const patient = retryingFor(20_000, {
  ...clusterFailures,
  isRetryable: (error) => ['retryable', 'cursorLost', 'catalogChanged'].includes(classify(error)),
});

/** Two clusters with the same initial content, and comparisons of them. */
export class TwoClusters implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'convoy-compare-'));
  #folders = 0;

  private constructor(
    readonly source: TestCluster,
    readonly destination: TestCluster,
  ) {}

  /** @param shards of source and destination; 0 is a replica set */
  static async open(
    shards: readonly [number, number] = [2, 2],
    wrap: { source?: (client: NodeClient) => NodeClient; destination?: (client: NodeClient) => NodeClient } = {},
    releases: { source?: ReleaseSeries; destination?: ReleaseSeries } = {},
  ): Promise<TwoClusters> {
    const source = await openTestCluster('source', shards[0], {
      direct: false,
      ...(wrap.source && { wrap: wrap.source }),
      ...(releases.source && { release: releases.source }),
    });
    const destination = await openTestCluster('destination', shards[1], {
      direct: false,
      ...(wrap.destination && { wrap: wrap.destination }),
      ...(releases.destination && { release: releases.destination }),
    });
    return new TwoClusters(source, destination);
  }

  get sides(): readonly TestCluster[] {
    return [this.source, this.destination];
  }

  newFolder(): string {
    this.#folders += 1;
    return join(this.folder, String(this.#folders));
  }

  /** Compares both; `folder` holds the state, a new one by default. */
  async compare(
    given: {
      options?: Partial<ComparisonOptions>;
      filter?: Partial<ComparisonFilter>;
      folder?: string;
      entered?: (phase: ComparisonPhase) => void;
      signal?: AbortSignal;
    } = {},
  ): Promise<Compared> {
    await using state = await ComparisonState.open(given.folder ?? this.newFolder());
    const deps = {
      source: this.source.cluster,
      destination: this.destination.cluster,
      state,
      options: { ...quick, ...given.options },
      clock: systemClock,
      retrying: patient,
      entered: given.entered ?? (() => undefined),
      signal: given.signal ?? new AbortController().signal,
    };
    const outcome = await compareClusters(deps, { ...everything, ...given.filter });
    const documents: DescribedMismatch[] = [];
    for await (const mismatch of state.mismatches()) documents.push(mismatch);
    return { ...outcome, documents };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.source[Symbol.asyncDispose]();
    await this.destination[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
