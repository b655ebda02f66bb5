import { MongoClient, type Timestamp } from 'mongodb';
import { benchNamespace } from '../copy/bench-documents.js';
import { printResult } from '../own-usage.js';
import { readUsage } from '../process-usage.js';
import type { LoadOrder, LoadReport, LoadState, LoadStep, Moved, StepResult } from './load-order.js';
import { changeAll, insertAll, readAll, readSnapshot, readStream } from './load.js';

/** Documents before the measurement, so that both sides have compiled their code. */
const warmUpDocuments = 20_000;

/** Runs an order's steps one after the other; inserts and reads each follow a shorter unmeasured one. */
async function runLoad(order: LoadOrder): Promise<LoadReport> {
  const router = new MongoClient(order.connectionString);
  const shard = new MongoClient(order.shardConnectionString);
  try {
    const state: LoadState = { router, shard, documents: order.documents, started: new Map(), shardDocuments: 0 };
    const measured: StepResult[] = [];
    for (const step of order.steps) {
      await prepare(step, state);
      measured.push(await measure(order.serverPid, () => run(step, state)));
    }
    return { measured };
  } finally {
    await Promise.all([router.close(), shard.close()]);
  }
}

async function prepare(step: LoadStep, state: LoadState): Promise<void> {
  const few = { ...state, documents: Math.min(state.documents, warmUpDocuments) };
  if (step.kind === 'insert') await insertAll(few, `warmUp_${step.key}_${step.use}`, step.use);
  if (step.kind === 'read') await readAll(few, `warmUp_${step.key}_${step.use}`, step.use);
  const change =
    step.kind === 'insert' && step.key === 'hashed' ? 'insert' : step.kind === 'change' ? step.change : undefined;
  if (change !== undefined) state.started.set(change, await clusterTime(state.router));
  if (change === 'delete')
    state.shardDocuments = await state.shard.db(benchNamespace.database).collection('hashed').estimatedDocumentCount();
}

async function clusterTime(client: MongoClient): Promise<Timestamp> {
  const { operationTime } = (await client.db('admin').command({ ping: 1 })) as { operationTime: Timestamp };
  return operationTime;
}

function run(step: LoadStep, state: LoadState): Promise<Moved> {
  switch (step.kind) {
    case 'insert':
      return insertAll(state, step.key, step.use);
    case 'change':
      return changeAll(state, step.change);
    case 'read':
      return readAll(state, step.key, step.use);
    case 'snapshot':
      return readSnapshot(state, step.from);
    case 'stream':
      return readStream(state, step.events, step.from);
  }
}

async function measure(serverPid: number, work: () => Promise<Moved>): Promise<StepResult> {
  const serverBefore = readUsage([serverPid]).cpu_seconds;
  const clientBefore = process.cpuUsage();
  const begin = performance.now();
  const moved = await work();
  const seconds = (performance.now() - begin) / 1000;
  const client = process.cpuUsage(clientBefore);
  const server = readUsage([serverPid]);
  return {
    ...moved,
    seconds,
    clientCpu_seconds: (client.user + client.system) / 1e6,
    serverCpu_seconds: server.cpu_seconds - serverBefore,
    serverMemoryBytes: server.peakMemoryBytes,
  };
}

/**
 * Runs one order in its own process, so that its CPU time is only the client's: `node load-process.js ORDER`. Its
 * result is a `LoadReport`.
 */
const order = JSON.parse(process.argv[2] ?? '') as LoadOrder;
printResult(await runLoad(order));
