import type { ContractClient } from '@convoy/api/client/contract-client';
import { type Progress, progressInfo } from '@convoy/api/contract/progress';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import { startFleet, startLoneInstance } from '@convoy/cli/environment/fleet/start-fleet';
import { untilAll, untilPassed } from '../apply/until-applied.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import type { MigrationTool, ToolKind, ToolProgress, Written } from './migration-tool.js';

export const notVerifiedName = 'Convoy not verified';
export const verifiedName = 'Convoy verified';

type Settings = Readonly<Record<string, unknown>>;

/** Convoy without its embedded verifier. */
export function notVerified(settings: Settings = {}): ToolKind {
  return { name: notVerifiedName, open: (clusters, folder) => ConvoyTool.open(clusters, folder, false, settings) };
}

/** Convoy without its embedded verifier, and as it is started by default. */
export function convoyTools(settings: Settings = {}): ToolKind[] {
  return [
    notVerified(settings),
    { name: verifiedName, open: (clusters, folder) => ConvoyTool.open(clusters, folder, true, settings) },
  ];
}

/** A lone instance between replica sets, a fleet between sharded clusters. */
class ConvoyTool implements MigrationTool {
  readonly waitsForWrites = true;

  private constructor(
    private readonly clusters: BenchClusters,
    private readonly instances: readonly InstanceProcess[],
    private readonly client: ContractClient,
    private readonly verified: boolean,
    private readonly processes: AsyncDisposable,
  ) {}

  static async open(
    clusters: BenchClusters,
    folder: ScratchFolder,
    verified: boolean,
    settings: Settings,
  ): Promise<ConvoyTool> {
    const { source, destination } = clusters;
    const options = { source, destination, folder, settings };
    if (source.kind === 'replicaSet') {
      const instance = await startLoneInstance(options);
      return new ConvoyTool(clusters, [instance], instance.client, verified, instance);
    }
    const fleet = await startFleet(options);
    return new ConvoyTool(clusters, fleet.instances, fleet.coordinator.client, verified, fleet);
  }

  get pids(): readonly number[] {
    return this.instances.map(({ pid }) => pid);
  }

  async start(): Promise<void> {
    await this.client.start({
      source: 'cluster0',
      destination: 'cluster1',
      verification: { enabled: this.verified },
    });
  }

  async progress(): Promise<ToolProgress> {
    const replies = await Promise.all(this.instances.map(({ client }) => client.progress()));
    return toolProgressOf(replies.map(({ progress }) => progress));
  }

  async pause(): Promise<void> {
    await this.client.pause();
  }

  async resume(): Promise<void> {
    await this.client.resume();
  }

  async untilApplied({ last }: Written, signal: AbortSignal): Promise<void> {
    await untilPassed(this.clusters.destinationClient, this.clusters.source.shardIds, last, signal);
  }

  async commit(signal: AbortSignal): Promise<void> {
    await this.client.commit();
    await untilAll(this.instances, ({ canWrite }) => canWrite === true, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.processes[Symbol.asyncDispose]();
  }
}

const sides = ['source', 'destination'] as const;

/** The progress of all instances as one. */
export function toolProgressOf(seen: readonly Progress[]): ToolProgress {
  const copied = seen.every(({ info }) => info === progressInfo.changeEventApplication);
  return {
    started: copied || seen.some(({ info }) => info === progressInfo.collectionCopy),
    copiedFraction: copiedFraction(seen),
    copied,
    canCommit: seen.every(({ canCommit }) => canCommit),
    checked: seen.every(({ verification }) => sides.every((side) => (verification?.[side].lagTimeSeconds ?? 0) <= 1)),
    paused: seen.every(({ state }) => state === 'PAUSED'),
    eventsApplied: seen.reduce((sum, { totalEventsApplied }) => sum + (totalEventsApplied ?? 0), 0),
  };
}

/** The copied part of all bytes, 0 to 1; each instance reports its own part and the common total. */
function copiedFraction(seen: readonly Progress[]): number {
  const copied = seen.reduce((bytes, { collectionCopy }) => bytes + (collectionCopy?.estimatedCopiedBytes ?? 0), 0);
  return copied / Math.max(1, ...seen.map(({ collectionCopy }) => collectionCopy?.estimatedTotalBytes ?? 0));
}
