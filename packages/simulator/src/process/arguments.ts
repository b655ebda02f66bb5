import { parseArgs } from 'node:util';
import type { WorkerOrder } from './worker-order.js';
import { defaultVersion, releaseSeries, type ReleaseSeries } from '../node/server-version.js';

/** What a command line asks for. */
export interface Arguments {
  readonly help: boolean;
  /** Prints one JSON line once the servers listen, also at a terminal. Elsewhere the process always prints JSON. */
  readonly json: boolean;
  /** Stops when standard input closes, and takes each line of it as the order of a fault. */
  readonly watchStdin: boolean;
  /** Maximum heap of the worker thread, which holds all data, in megabytes. */
  readonly memoryMb: number;
  /** The cluster or replica set that the worker thread starts. */
  readonly order: WorkerOrder;
}

/** A command line that cannot run. Its message is one sentence for a person. */
export class UsageError extends Error {}

/** A router asks all shards one after the other, so more of them only cost time. */
const shardsMax = 64;
const routersMax = 16;
const portMax = 65_535;
/** A heap beyond a terabyte is a typing error. */
const memoryMbMax = 1_048_576;
const memoryMbDefault = 4096;

/**
 * Reads the arguments behind the program's name.
 * @throws UsageError for options that do not exist, values out of range and options that exclude each other
 */
export function parseArguments(args: readonly string[]): Arguments {
  const values = optionTexts(args);
  const shards = numberBetween('--shards', values.shards, 1, shardsMax) ?? 2;
  const routers = numberBetween('--routers', values.routers, 1, routersMax) ?? 1;
  if (values['replica-set'] && (values.shards ?? values.routers) !== undefined) {
    throw new UsageError(
      '--replica-set starts one member without shards and routers: leave out --shards and --routers.',
    );
  }
  const oplogBytesMax = numberBetween('--oplog-bytes', values['oplog-bytes'], 1, Number.MAX_SAFE_INTEGER);
  const snapshotWindowSeconds = numberBetween(
    '--snapshot-window-seconds',
    values['snapshot-window-seconds'],
    0,
    Number.MAX_SAFE_INTEGER,
  );
  return {
    help: values.help,
    json: values.json,
    watchStdin: values['watch-stdin'],
    memoryMb: numberBetween('--memory-mb', values['memory-mb'], 1, memoryMbMax) ?? memoryMbDefault,
    order: {
      kind: values['replica-set'] ? 'replicaSet' : 'cluster',
      shards,
      routers,
      ...(values.host === undefined ? {} : { host: hostOf(values.host) }),
      // One more port for the config server.
      port: portOf(values.port, values['replica-set'] ? 1 : shards + routers + 1),
      version: seriesOf(values.version),
      auth: values.auth,
      limits: {
        ...(oplogBytesMax === undefined ? {} : { oplogBytesMax }),
        ...(snapshotWindowSeconds === undefined ? {} : { snapshotWindowSeconds }),
      },
    },
  };
}

/** Splits the command line into options; numbers, versions and hosts are still unchecked texts. */
function optionTexts(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        shards: { type: 'string' },
        routers: { type: 'string' },
        port: { type: 'string' },
        host: { type: 'string' },
        version: { type: 'string' },
        'oplog-bytes': { type: 'string' },
        'snapshot-window-seconds': { type: 'string' },
        'memory-mb': { type: 'string' },
        'replica-set': { type: 'boolean', default: false },
        'watch-stdin': { type: 'boolean', default: false },
        auth: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(firstSentence(error instanceof Error ? error.message : String(error)));
  }
}

/** Node.js adds sentences about arguments that begin with a dash; a `UsageError` has one. */
function firstSentence(message: string): string {
  const [sentence = message] = message.split(/\. |\n/);
  return sentence.endsWith('.') ? sentence : `${sentence}.`;
}

function numberBetween(option: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) {
    throw new UsageError(`${option} takes a whole number from ${least} to ${most}, not '${text}'.`);
  }
  return number;
}

/** All servers listen on this address, and report it to clients as their own. */
function hostOf(text: string): string {
  if (!/^[A-Za-z0-9.-]+$/.test(text))
    throw new UsageError(`--host takes a name or an address of this machine, not '${text}'.`);
  return text;
}

/**
 * The first port; 0 lets the system choose all.
 * @param ports how many consecutive ports the servers take
 */
function portOf(text: string | undefined, ports: number): number {
  const port = numberBetween('--port', text, 0, portMax) ?? 0;
  if (port + ports - 1 > portMax)
    throw new UsageError(
      `--port ${port} leaves no room for the ${ports} ports that are needed: the highest is ${portMax}.`,
    );
  return port;
}

function seriesOf(text: string | undefined): ReleaseSeries {
  if (text === undefined) return defaultVersion.series;
  const series = releaseSeries.find((known) => known === text);
  if (series === undefined) throw new UsageError(`--version takes one of ${releaseSeries.join(', ')}, not '${text}'.`);
  return series;
}

/** What `--help` prints. */
export const usage = `Usage: simulator [options]

Runs a simulated MongoDB cluster on ports of this machine until it is stopped. Its data is in memory only.

  --shards N                    shards of the cluster, 1 to 64 (default 2)
  --routers N                   routers of the cluster, 1 to 16 (default 1)
  --replica-set                 a plain replica set of one member instead of a cluster
  --version V                   release that it behaves as: 4.4, 5.0, 6.0, 7.0 or 8.0 (default 8.0)
  --auth                        with access control; the first user is made from this machine without a login
  --port P                      first router P, config server P+1, shards from P+2, then further routers;
                                0, the default, takes any free ports
  --host H                      where its servers listen, and by which name clients reach them (default 127.0.0.1)
  --oplog-bytes N               bytes of oplog that each shard keeps
  --snapshot-window-seconds N   seconds that snapshot reads reach back
  --memory-mb N                 most memory the data may take, in megabytes (default 4096)
  --watch-stdin                 stop when standard input closes, as a child process should; each line of it orders
                                a fault, e.g. {"stop":"shard0"}, and is answered by one line of JSON
  --json                        print one JSON line when ready, as is done when the output is no terminal
  --help                        print this
`;
