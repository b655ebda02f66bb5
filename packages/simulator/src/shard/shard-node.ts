import type { Doc } from '../bson/value.js';
import type { ClusterClock } from '../node/clock.js';
import { CommandError, type CommandNode, type CommandRequest } from '../node/command.js';

/** How a shard is set up. */
export interface ShardNodeOptions {
  /** Shard id, e.g. `shard0`. */
  name: string;
  clock: ClusterClock;
  setName: string;
  host: string;
  port: number;
  /** Bytes of oplog entries that are kept; older ones are cut off. Default 256 MB. */
  oplogBytesMax?: number;
  /** Seconds of history that snapshot reads reach back. Default 300, the server's `minSnapshotHistoryWindowInSeconds`. */
  snapshotWindowSeconds?: number;
  /** Milliseconds between no-ops on an idle shard. Default 1,000; 0 writes none. */
  noopIntervalMs?: number;
}

/** One data-bearing member: answers commands on its own data. */
export class ShardNode implements CommandNode {
  readonly name: string;

  constructor(readonly options: ShardNodeOptions) {
    this.name = options.name;
  }

  /** True when this node answers the command itself; the connection layer answers handshake and diagnostics. */
  knows(commandName: string): boolean {
    return commandName === '';
  }

  run(request: CommandRequest): Promise<Doc> {
    return Promise.reject(new CommandError(59, 'CommandNotFound', `no such command: '${request.name}'`));
  }

  /** Stops timers and ends all cursors. */
  close(): void {
    /* nothing is running yet */
  }
}
