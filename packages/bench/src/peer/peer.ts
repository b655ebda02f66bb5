import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type Benchmark, type BenchmarkContext, type Row, withGoal, rowMaker } from '../benchmark.js';
import {
  type Backlog,
  checkpoint_ms,
  measureBacklog,
  mixedBacklog,
  nestedBacklog,
  plainBacklog,
} from './apply-part.js';
import { measureCollections } from './collections-part.js';
import { clusterSync } from './cluster-sync.js';
import { convoyTools } from './convoy-tool.js';
import { type CopySize, measureCopy } from './copy-part.js';
import type { ToolKind } from './migration-tool.js';
import { measureSeries } from './series-part.js';
import { measureCommit } from './commit-part.js';
import { measureUsers } from './users-part.js';

/** One part of the benchmark, of at most 10 minutes on two cores. */
type Part = (peer: readonly ToolKind[], context: BenchmarkContext) => Promise<Row[]>;

const oneKilobyte: CopySize = {
  name: '1 kB',
  documentBytes: 1_000,
  bytes: 500_000_000,
  goals: { ofPeerMin: { plain: 1.3, verified: 1.2 }, ofBareLoopMin: 0.85 },
};

const otherSizes: Readonly<Record<'copy-200b' | 'copy-10kb' | 'copy-1mb', CopySize>> = {
  'copy-200b': {
    name: '200 B',
    documentBytes: 200,
    bytes: 100_000_000,
    goals: { ofPeerMin: { plain: 1.3, verified: 1.2 } },
  },
  'copy-10kb': {
    name: '10 kB',
    documentBytes: 10_000,
    bytes: 500_000_000,
    goals: { ofPeerMin: { plain: 1.2, verified: 1.1 }, ofBareLoopMin: 0.85 },
  },
  'copy-1mb': {
    name: '1 MB',
    documentBytes: 1_000_000,
    bytes: 500_000_000,
    goals: { ofPeerMin: { plain: 1.1, verified: 1 } },
  },
};

const sharded: CopySize = {
  ...oneKilobyte,
  name: '1 kB sharded',
  bytes: 300_000_000,
  goals: { ofPeerMin: { plain: 1.3, verified: 1.3 } },
};

function copyOf(size: CopySize, kind: TestCluster['kind'] = 'replicaSet'): Part {
  return (peer, context) => measureCopy(size, kind, [...peer, ...convoyTools()], context);
}

function applyOf(backlog: Backlog): Part {
  return (peer, context) => measureBacklog(backlog, [...peer, ...convoyTools({ checkpoint_ms })], context);
}

const parts: Readonly<Record<string, Part>> = {
  copy: copyOf(oneKilobyte),
  'copy-200b': copyOf(otherSizes['copy-200b']),
  'copy-10kb': copyOf(otherSizes['copy-10kb']),
  'copy-1mb': copyOf(otherSizes['copy-1mb']),
  'copy-sharded': copyOf(sharded, 'sharded'),
  'copy-collections': (peer, context) => measureCollections('replicaSet', [...peer, ...convoyTools()], context),
  // ClusterSync leaves time series out.
  'copy-series': (_, context) => measureSeries(convoyTools(), context),
  apply: applyOf(plainBacklog),
  'apply-mixed': applyOf(mixedBacklog),
  'apply-nested': applyOf(nestedBacklog),
  users: (peer, context) => measureUsers([...peer, ...convoyTools()], context),
  commit: (peer, context) => measureCommit([...peer, ...convoyTools()], context),
};

/** Above this load others compute at the same time. */
const loadMax = 4;

/** Convoy beside bare loops, and beside Percona ClusterSync where it can run. */
export const peerBenchmark: Benchmark = {
  name: 'peer',
  description:
    'copy, apply and commit beside bare loops, on simulated servers or those of MONGO_BIN, and on these beside ' +
    'Percona ClusterSync, the program PCSM_BIN',
  parts: Object.keys(parts),
  async run(context) {
    const rows: Row[] = [];
    for (const [name, run] of Object.entries(parts)) {
      if (context.parts !== undefined && !context.parts.has(name)) continue;
      const load = loadRow(name, context);
      // Each part starts its own clusters.
      using folder = ScratchFolder.create(`bench-${name}`);
      rows.push(load, ...(await run(peerTools(context), { ...context, folder })));
    }
    return rows;
  },
};

function peerTools({ log }: BenchmarkContext): ToolKind[] {
  const { MONGO_BIN: servers, PCSM_BIN: program } = process.env;
  if (servers && program && existsSync(program)) return [clusterSync(program)];
  log('ClusterSync has no rows: PCSM_BIN must name its program, and MONGO_BIN the folder of real servers.');
  return [];
}

function loadRow(part: string, { log }: BenchmarkContext): Row {
  const [value = 0] = loadavg();
  const row = withGoal(rowMaker(part)('load of the machine before it', value, ''), '<=', loadMax);
  if (row.met === false) log(`The machine's load is ${value.toFixed(1)}: the rows of ${part} are not exact.`);
  return row;
}
