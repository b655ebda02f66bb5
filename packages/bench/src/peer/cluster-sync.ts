import { z } from 'zod';
import { Child } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { untilTrue } from '../apply/until-applied.js';
import type { BenchClusters } from '../copy/bench-clusters.js';
import type { MigrationTool, ToolKind, ToolProgress, Written } from './migration-tool.js';

export const clusterSyncName = 'ClusterSync';
/** It writes an oplog note through the router, which those of older servers refuse. */
const shardedReleaseMin = 6;
/** Time to connect to both clusters and to listen. */
const readyWithin_ms = 60_000;
/** It refuses a pause until it replicates changes, and a resume until the pause is done. */
const acceptedWithin_ms = 60_000;

/** Percona ClusterSync, with the settings it has by default. */
export function clusterSync(program: string): ToolKind {
  return {
    name: clusterSyncName,
    canMigrate: ({ source }) => source.kind !== 'sharded' || source.version[0] >= shardedReleaseMin,
    open: (clusters, folder) => ClusterSync.open(program, clusters, folder),
  };
}

/** One process, also between sharded clusters; it keeps its state on the destination. */
class ClusterSync implements MigrationTool {
  /** Its manual leaves it to the operator to wait until there is no lag. */
  readonly waitsForWrites = false;

  private constructor(
    private readonly child: Child,
    private readonly url: string,
  ) {}

  static async open(program: string, { source, destination }: BenchClusters, folder: ScratchFolder) {
    const port = await freePort();
    const child = await Child.start({
      name: clusterSyncName,
      command: program,
      args: [
        ...['--source', source.connectionString, '--target', destination.connectionString],
        ...['--port', String(port), '--log-no-color'],
      ],
      ready: /./,
      readyWithin_ms,
      logFile: folder.file('clustersync.log'),
    });
    const tool = new ClusterSync(child, `http://127.0.0.1:${port}`);
    try {
      await pollUntil('ClusterSync listens', readyWithin_ms, () => tool.listens());
      return tool;
    } catch (error) {
      await child.kill();
      throw error;
    }
  }

  get pids(): readonly number[] {
    return [this.child.pid];
  }

  start(): Promise<void> {
    return this.command('start');
  }

  async progress(): Promise<ToolProgress> {
    return clusterSyncProgress(await this.call('GET', 'status'));
  }

  pause(): Promise<void> {
    return this.command('pause');
  }

  resume(): Promise<void> {
    return this.command('resume');
  }

  /** It counts applied events; the operation time that it reports may be ahead of them. */
  async untilApplied({ appliedBefore, events }: Written, signal: AbortSignal): Promise<void> {
    await this.until(({ eventsApplied }) => eventsApplied >= appliedBefore + events, signal);
  }

  async commit(signal: AbortSignal): Promise<void> {
    await this.command('finalize');
    await this.until(({ state }) => state === 'finalized', signal);
  }

  /** SIGKILL: what it would tidy up is dropped with the destination. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.kill();
  }

  private until(condition: (status: ClusterSyncStatus) => boolean, signal: AbortSignal): Promise<void> {
    return untilTrue(async () => condition(await this.call('GET', 'status')), signal);
  }

  private async command(name: 'start' | 'pause' | 'resume' | 'finalize'): Promise<void> {
    let refusal = '';
    await pollUntil(`ClusterSync accepts ${name}`, acceptedWithin_ms, async () => {
      const { ok, error } = await this.call('POST', name);
      refusal = error ?? '';
      return ok;
    }).catch((error: unknown) => {
      throw refusal === '' ? error : new Error(`ClusterSync refuses ${name}: ${refusal}.`, { cause: error });
    });
  }

  private async listens(): Promise<boolean> {
    return this.call('GET', 'status').then(
      () => true,
      () => false,
    );
  }

  private async call(method: 'GET' | 'POST', path: string): Promise<ClusterSyncStatus> {
    const body = method === 'POST' ? { body: '{}', headers: { 'content-type': 'application/json' } } : {};
    const reply = await fetch(`${this.url}/${path}`, { method, ...body });
    return readStatus(await reply.json());
  }
}

/** The used fields of ClusterSync's replies; before a start there is only the state. */
const statusSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  state: z.string().optional(),
  eventsApplied: z.number().default(0),
  initialSync: z
    .object({
      completed: z.boolean(),
      cloneCompleted: z.boolean(),
      clonedSizeBytes: z.number(),
      estimatedCloneSizeBytes: z.number().optional(),
    })
    .optional(),
});

/** A reply of ClusterSync's HTTP interface. */
type ClusterSyncStatus = z.output<typeof statusSchema>;

/**
 * Reads a reply, of `GET /status` or of a command.
 * @throws Error for an unknown form, or with ClusterSync's own message once it has failed
 */
export function readStatus(reply: unknown): ClusterSyncStatus {
  const status = statusSchema.parse(reply);
  if (status.state === 'failed') throw new Error(`ClusterSync failed: ${status.error ?? 'without a reason'}.`);
  return status;
}

/** It may finalize once its initial sync, the clone and the changes meanwhile, is complete. */
export function clusterSyncProgress({ state, eventsApplied, initialSync }: ClusterSyncStatus): ToolProgress {
  const copied = initialSync?.cloneCompleted ?? false;
  const total = initialSync?.estimatedCloneSizeBytes ?? 0;
  return {
    started: state !== undefined && state !== 'idle',
    copiedFraction: copied ? 1 : Math.min(1, (initialSync?.clonedSizeBytes ?? 0) / Math.max(1, total)),
    copied,
    canCommit: initialSync?.completed ?? false,
    checked: true,
    paused: state === 'paused',
    eventsApplied,
  };
}
