import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { ReleaseSeries } from '../node/server-version.js';
import { closing } from '../cluster/closing.js';
import type { ReadyMessage } from './worker-order.js';

/** The compiled program: the same path whether this file runs from `src` (tests) or from `dist`. */
const program = fileURLToPath(new URL('../../dist/process.js', import.meta.url));

/** Time to close all connections after the end of the standard input, on a loaded host. */
const stopGrace_ms = 10_000;

/** What a process runs; each option is one of the program's (`simulator --help`), with its default. */
export interface ProcessOptions {
  /** Shards of a cluster; default 2. Not for a replica set. */
  readonly shards?: number;
  /** Routers of a cluster; default 1. Not for a replica set. */
  readonly routers?: number;
  /** Starts a plain replica set instead of a cluster. */
  readonly replicaSet?: boolean;
  /** Release series that all nodes behave as; default 8.0. */
  readonly version?: ReleaseSeries;
  /** Turns access control on, without users; off by default. */
  readonly auth?: boolean;
  /** The first port, as with `--port`. 0, the default, takes any free ones. */
  readonly basePort?: number;
  /** Bytes of oplog that each shard keeps. */
  readonly oplogBytesMax?: number;
  /** Seconds of history that snapshot reads reach back. */
  readonly snapshotWindowSeconds?: number;
  /** Most memory that the data may take, in megabytes; default 4096. */
  readonly memoryMb?: number;
}

/** A simulator in a process of its own. It ends with this process, however that ends. */
export interface SimulatorProcess extends AsyncDisposable {
  readonly pid: number;
  /** `mongodb://` address of the first router, or of the replica set. */
  readonly connectionString: string;
  /** `host:port` of each shard of a cluster; of a replica set, of its member. */
  readonly shards: readonly string[];
  /**
   * Causes a fault, in the order of the calls.
   * @param order for example `{ stepDown: 'shard1', seconds: 5 }`
   * @throws Error for an order that is unknown or fails, or when the process has ended
   */
  fault(order: Readonly<Record<string, unknown>>): Promise<void>;
  /** Ends the process, and its data with it. */
  close(): Promise<void>;
}

type Simulator = ChildProcessByStdio<Writable, Readable, Readable>;

/**
 * Starts a simulator in a process of its own, for loads: its larger young generation doubles the throughput.
 * @throws Error with the program's own sentence when it does not start
 */
export async function startProcess(options: ProcessOptions = {}): Promise<SimulatorProcess> {
  const child = spawn(process.execPath, [program, ...argumentsOf(options)], { stdio: 'pipe' });
  const ended = once(child, 'close').then(() => undefined);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.on('error', () => undefined); // of an order to a process that has just ended, whose lines say so
  const ready = await firstLine(child, lines, ended);
  const addresses = JSON.parse(ready) as ReadyMessage;
  let previous: Promise<unknown> = Promise.resolve();
  return {
    pid: child.pid ?? 0,
    connectionString: addresses.connectionString,
    shards: 'router' in addresses ? addresses.shards : [addresses.replicaSet],
    fault: (order) => {
      const current = previous.then(() => causeFault(child, lines, order));
      previous = current.catch(() => undefined);
      return current;
    },
    ...closing(async () => {
      child.stdin.end();
      const late = setTimeout(() => child.kill('SIGKILL'), stopGrace_ms);
      await ended;
      clearTimeout(late);
    }),
  };
}

function argumentsOf(options: ProcessOptions): string[] {
  const valued: readonly (readonly [string, number | string | undefined])[] = [
    ['--shards', options.shards],
    ['--routers', options.routers],
    ['--version', options.version],
    ['--port', options.basePort],
    ['--oplog-bytes', options.oplogBytesMax],
    ['--snapshot-window-seconds', options.snapshotWindowSeconds],
    ['--memory-mb', options.memoryMb],
  ];
  return [
    '--json',
    '--watch-stdin',
    ...(options.replicaSet ? ['--replica-set'] : []),
    ...(options.auth ? ['--auth'] : []),
    ...valued.flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)])),
  ];
}

/** The ready line; rejects with what the program wrote to its standard error when it ends without one. */
async function firstLine(child: Simulator, lines: AsyncIterator<string>, ended: Promise<void>): Promise<string> {
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += errors.length < errorCharactersMax ? chunk.toString() : ''));
  // A stream that fails, as of a program that cannot be started, ends the lines too.
  const line = await lines.next();
  if (line.done !== true) return line.value;
  await ended;
  throw new Error(`The simulator did not start: ${errors.trim() || 'it ended without a word'}`);
}

/** Enough for every sentence of the program, and a bound for what a failing Node.js prints. */
const errorCharactersMax = 10_000;

async function causeFault(
  child: Simulator,
  lines: AsyncIterator<string>,
  order: Readonly<Record<string, unknown>>,
): Promise<void> {
  if (child.stdin.writable) child.stdin.write(`${JSON.stringify(order)}\n`);
  const line = await lines.next();
  if (line.done === true) throw new Error('The simulator has ended.');
  const answer = JSON.parse(line.value) as { failed?: unknown; message?: string };
  if (answer.failed !== undefined) throw new Error(answer.message);
}
